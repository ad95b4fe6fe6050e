package pawl

import (
	_ "github.com/pawl-go/pawl/engine/local"  // the engines that are always linked in:
	_ "github.com/pawl-go/pawl/engine/remote" // this process's own, and one that pawl serve hosts
)
