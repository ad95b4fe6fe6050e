package local

func (e *Engine) wakeClock() {
	select {
	case e.alarm <- struct{}{}:
	default:
	}
}

func (e *Engine) keepTime() { <-e.quit }
