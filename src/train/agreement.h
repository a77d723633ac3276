// The processes of a mesh have to compute the same: what differs between them is found before the
// first step.
#pragma once

#include "mesh/mesh.h"
#include "train/recipe.h"

namespace heed {

// An Error that names a process and both values, if it has another program, instruction set, number
// of threads, recipe, model or data than the first one. All processes call it.
void check_agreement(const Mesh& mesh, const Recipe& recipe, const Json& model);

}  // namespace heed
