package gossip

import (
	"bytes"
	"context"
	"log"
	"log/slog"
)

// newLog makes a logger for memberlist, whose lines say their level in brackets.
func newLog(to *slog.Logger) *log.Logger { return log.New(lines{to}, "", 0) }

type lines struct{ to *slog.Logger }

var levels = map[string]slog.Level{
	"[DEBUG]": slog.LevelDebug, "[INFO]": slog.LevelDebug, // its news are for its own makers
	"[WARN]": slog.LevelWarn, "[ERR]": slog.LevelError, "[ERROR]": slog.LevelError,
}

func (l lines) Write(line []byte) (int, error) {
	word, rest, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
	level, ok := levels[string(word)]
	if !ok {
		level, rest = slog.LevelInfo, bytes.TrimSpace(line)
	}
	rest = bytes.TrimPrefix(rest, []byte("memberlist: "))
	l.to.Log(context.Background(), level, "gossip: "+string(rest))
	return len(line), nil
}
