#include "base/json.h"

HEED_JSON_TEMPLATES(template);
