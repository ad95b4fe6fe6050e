package pawl

import _ "github.com/pawl-go/pawl/engine/local" // the engine that is always linked in
