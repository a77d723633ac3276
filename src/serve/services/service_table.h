// All services. A new one is a file pair and one line in service_table.cc.
#pragma once

#include <memory>

#include "serve/engine.h"
#include "serve/services/offer.h"

namespace heed::serve {

struct LoadedService {
  std::unique_ptr<Service> service;
  const Offer* offer = nullptr;  // a side of the service
};

// Loads the folder into the service that is for it; an Error if there is none.
LoadedService load_service(const FolderToServe& folder);

}  // namespace heed::serve
