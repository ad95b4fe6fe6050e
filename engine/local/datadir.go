package local

// DataDir is the directory that holds all of the engine: where a program that
// runs on it opens its control socket.
func (e *Engine) DataDir() string { return e.set.dir }
