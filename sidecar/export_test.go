package sidecar

import "time"

// ShortTimeouts makes a pair impatient with its clients.
func (c *Config) ShortTimeouts() {
	c.timeouts = timeouts{header: 200 * time.Millisecond, body: 300 * time.Millisecond, idle: 400 * time.Millisecond}
}

// MaxStreams bounds the concurrent requests of one HTTP/2 connection.
const MaxStreams = maxStreams
