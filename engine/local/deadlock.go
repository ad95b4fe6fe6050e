package local

import "github.com/pawl-go/pawl/engine"

func (s *session) searchDeadlocks(*engine.Effects) {}

func (e *Engine) searchDeadlock(*pending) {}
