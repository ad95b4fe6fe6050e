package local

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func rss(b testing.TB) {
	s, _ := os.ReadFile("/proc/self/status")
	for _, l := range strings.Split(string(s), "\n") {
		if strings.HasPrefix(l, "VmRSS") || strings.HasPrefix(l, "Rss") || strings.HasPrefix(l, "VmHWM") {
			fmt.Print(l, "; ")
		}
	}
	fmt.Println()
}
