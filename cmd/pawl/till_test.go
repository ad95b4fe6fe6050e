package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// till is an application in another language, as pawl run sees it: it hosts the
// actor type Till, whose method slow answers with what is in a file, once there is
// something. It says so when SIGTERM ends it.
func till() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	mux := http.NewServeMux()
	mux.HandleFunc("/kar/impl/v1/actor/Till", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/kar/impl/v1/actor/Till/{id}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /kar/impl/v1/actor/Till/{id}/slow", func(w http.ResponseWriter, r *http.Request) {
		var files []string
		if err := json.NewDecoder(r.Body).Decode(&files); err != nil || len(files) != 1 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for r.Context().Err() == nil {
			if b, err := os.ReadFile(files[0]); err == nil && len(b) > 0 {
				w.Header().Set("Content-Type", "application/kar+json")
				_ = json.NewEncoder(w).Encode(map[string]any{"value": string(b)})
				return
			}
			time.Sleep(time.Millisecond) //nolint:forbidigo // waits for another process
		}
	})
	s := http.Server{Addr: "127.0.0.1:" + os.Getenv("KAR_APP_PORT"), Handler: mux} //nolint:gosec // a test
	go func() {
		if err := s.ListenAndServe(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(9)
		}
	}()
	<-ctx.Done()
	fmt.Fprintln(os.Stdout, "told to end")
}
