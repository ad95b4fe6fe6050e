package sidecar

import "time"

// ShortTimeouts makes a pair impatient with its clients.
func (c *Config) ShortTimeouts() {
	c.timeouts = timeouts{header: 2 * time.Second, body: 3 * time.Second, idle: 3 * time.Second}
}

// MaxStreams bounds the concurrent requests of one HTTP/2 connection.
const MaxStreams = maxStreams
