// plural() for commands, which may include leaves alone.
#pragma once

#include "base/text/plural.h"
