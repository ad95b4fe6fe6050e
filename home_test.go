package pawl

import (
	"testing"

	"github.com/pawl-go/pawl/engine"
)

// A method is known to be read-only while its type is hosted by nobody, until a member
// says otherwise.
func TestMembersThatAreAwayAreRemembered(t *testing.T) {
	member := func(readOnly bool) []engine.Member {
		methods := []engine.Method{{Name: "Out", ReadOnly: readOnly}, {Name: "Take"}}
		return []engine.Member{{Component: engine.Component{Types: []engine.Type{{Name: "Stock", Methods: methods}}}}}
	}
	var m memberKinds
	for _, c := range []struct {
		members []engine.Member
		want    bool
	}{{nil, false}, {member(true), true}, {nil, true}, {append(member(true), member(true)...), true}, {member(false), false}} {
		m.learn(c.members)
		if got := m.readers[[2]string{"Stock", "Out"}]; got != c.want || m.readers[[2]string{"Stock", "Take"}] {
			t.Errorf("after %+v: %v", c.members, m.readers)
		}
	}
}
