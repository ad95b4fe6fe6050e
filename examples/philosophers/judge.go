package philosophers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pawl-go/pawl"
)

// dine lets a guest dine and waits for the answer. A dinner asked for twice, under
// one key, is one.
func dine(ctx context.Context, guest string, forks [2]string, meals int) error {
	in, err := json.Marshal([]any{forks, meals})
	if err != nil {
		return err
	}
	var answer int
	if err := ask(ctx, "Philosopher", guest, "dine", in, &answer, pawl.Key("dinner of "+guest)); err != nil {
		return err
	}
	if answer != meals {
		return fmt.Errorf("the dinner of %s ended with %d meals, not %d", guest, answer, meals)
	}
	return nil
}

// ask calls a method of an actor in another language. In is the list of its
// arguments.
func ask(ctx context.Context, kind, id, method string, in json.RawMessage, out any, opts ...pawl.CallOption) error {
	answer, err := pawl.CallRaw(ctx, kind, id, method, in, opts...)
	if err != nil {
		return fmt.Errorf("call %s %s %s: %w", kind, id, method, err)
	}
	return json.Unmarshal(answer, out)
}

// judge compares what the waiter saw and what the actors have written with what
// must be: each guest has eaten all meals, each fork lies on the table and was
// taken once for each meal of its two guests.
func judge(ctx context.Context, w *waiter, meals int) error {
	wrong := w.complaints(guests, meals)
	none := json.RawMessage("[]")
	for i, g := range guests {
		var eaten int
		if err := ask(ctx, "Philosopher", g, "eaten", none, &eaten); err != nil {
			return err
		}
		if eaten != meals {
			wrong = append(wrong, fmt.Sprintf("%s has eaten %d meals, not %d", g, eaten, meals))
		}
		var fork struct {
			Holder *string `json:"holder"`
			Taken  int     `json:"taken"`
		}
		name := strconv.Itoa(i)
		if err := ask(ctx, "Fork", name, "look", none, &fork); err != nil {
			return err
		}
		if fork.Holder != nil {
			wrong = append(wrong, fmt.Sprintf("fork %s is still held by %s", name, *fork.Holder))
		}
		if fork.Taken != 2*meals {
			wrong = append(wrong, fmt.Sprintf("fork %s was taken %d times, not %d", name, fork.Taken, 2*meals))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}
