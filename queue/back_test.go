package queue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mixed fills a queue with everything that takes place in one: entries, batches,
// padding, notes, over several cycles; it gives what tailers see of it.
func mixed(t testing.TB, q *Queue, r *rand.Rand, n int) (is []Index, ps []string) {
	t.Helper()
	for len(is) < n {
		p := fmt.Sprintf("%06d%s", len(is), string(make([]byte, r.IntN(600))))
		switch r.IntN(6) {
		case 0:
			first, err := q.AppendBatch([]byte(p), []byte(fmt.Sprintf("%06d", len(is)+1)))
			if err != nil {
				t.Fatal(err)
			}
			is, ps = append(is, first, first+1), append(ps, p, fmt.Sprintf("%06d", len(is)+1))
		case 1:
			s, err := q.Reserve(r.IntN(500))
			if err != nil {
				t.Fatal(err)
			}
			s.Abandon()
		case 2:
			if _, err := q.AppendNote([]byte("a note")); err != nil {
				t.Fatal(err)
			}
		default:
			is, ps = append(is, mustAppend(t, q, p)), append(ps, p)
		}
	}
	return is, ps
}

// TestBackwards reads a queue from its end and walks to and fro in it, in the
// appending process, in a reading one, and when it is all sealed.
func TestBackwards(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	is, ps := mixed(t, q, r, 600)
	check := func(q *Queue) {
		t.Helper()
		tl := q.NewTailer(q.Last() + 1)
		defer tl.Close()
		for k, want := range slices.Backward(is) {
			i, p, ok, err := tl.TryPrev()
			if err != nil || !ok || i != want || string(p) != ps[k] {
				t.Fatalf("entry %d backwards: %s %t %v, want %s", k, i, ok, err, want)
			}
		}
		if _, _, ok, err := tl.TryPrev(); ok || err != nil {
			t.Fatalf("before the first: %t %v", ok, err)
		}
		at := 0 // between is[at-1] and is[at]
		for range 2000 {
			if r.IntN(50) == 0 {
				at = r.IntN(len(is))
				tl.Seek(is[at])
			}
			want := at
			var i Index
			var ok bool
			var err error
			if r.IntN(2) == 0 {
				i, _, ok, err = tl.TryNext()
				at = min(at+1, len(is))
			} else {
				want--
				i, _, ok, err = tl.TryPrev()
				at = max(at-1, 0)
			}
			there := want >= 0 && want < len(is)
			if err != nil || ok != there || ok && i != is[want] {
				t.Fatalf("step to entry %d: %s %t %v", want, i, ok, err)
			}
		}
	}
	check(q)
	check(mustOpenReadOnly(t, dir))
	mustClose(t, q)
	check(mustOpenReadOnly(t, dir))
	q = mustOpen(t, dir, small())
	check(q)
	half := is[len(is)/2]
	if err := q.ReleaseBefore(half); err != nil {
		t.Fatal(err)
	}
	tl := q.NewTailer(half)
	defer tl.Close()
	n := 0
	for ; ; n++ {
		if _, _, ok, err := tl.TryPrev(); err != nil {
			t.Fatal(err)
		} else if !ok {
			break
		}
	}
	if got, want := tl.want.Cycle(), q.First().Cycle(); got != want || n == 0 {
		t.Fatalf("backwards to cycle %d after %d steps, the first is %d", got, n, want)
	}
}

// TestSearch finds each entry, and the place of each that is not there.
func TestSearch(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	dir := t.TempDir()
	q := mustOpen(t, dir, small())
	if i, found, err := q.Search(func(Index, []byte) int { return 0 }); found || err != nil || i != 1 {
		t.Fatalf("in an empty queue: %s %t %v", i, found, err)
	}
	is, _ := mixed(t, q, r, 500)
	check := func(q *Queue) {
		t.Helper()
		for k := range is {
			looks := 0
			at := func(want string) (Index, bool) {
				i, found, err := q.Search(func(_ Index, p []byte) int { looks++; return strings.Compare(string(p[:6]), want) })
				if err != nil {
					t.Fatal(err)
				}
				return i, found
			}
			if i, found := at(fmt.Sprintf("%06d", k)); !found || i != is[k] {
				t.Fatalf("entry %d: %s %t, want %s", k, i, found, is[k])
			}
			if looks > 45 {
				t.Fatalf("%d looks for one of %d", looks, len(is))
			}
		}
		i, found, err := q.Search(func(Index, []byte) int { return -1 })
		if err != nil || found || i != q.Last()+1 {
			t.Fatalf("all below: %s %t %v", i, found, err)
		}
		i, found, err = q.Search(func(Index, []byte) int { return 1 })
		if err != nil || found || i != is[0] {
			t.Fatalf("none below: %s %t %v", i, found, err)
		}
	}
	check(q)
	check(mustOpenReadOnly(t, dir))
	mustClose(t, q)
	check(mustOpenReadOnly(t, dir))
	if _, _, err := q.Search(func(Index, []byte) int { return 0 }); !errors.Is(err, ErrClosed) {
		t.Fatalf("in a closed queue: %v", err)
	}
}

// TestSearchIsAHalving over any lengths of cycles, empty ones too.
func TestSearchIsAHalving(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 4))
	for range 500 {
		var all []Index
		for c := range uint32(1 + r.IntN(6)) {
			for s := range uint32(r.IntN(5)) {
				all = append(all, NewIndex(c+1, s))
			}
		}
		if len(all) == 0 {
			continue
		}
		first, last := all[0], all[len(all)-1]
		sought := r.IntN(len(all) + 1)
		probe := func(i Index) (found, error) {
			for k, e := range all {
				if e >= i {
					return found{e, compareInt(k, sought)}, nil
				}
			}
			return found{last + 1, 1}, nil
		}
		want := found{last + 1, 1}
		if sought < len(all) {
			want = found{all[sought], 0}
		}
		got, err := search(first, last, probe)
		if err != nil || !cmp.Equal(got, want, cmp.AllowUnexported(found{})) {
			t.Fatalf("%v, sought %d: %+v %v", all, sought, got, err)
		}
	}
}

func compareInt(a, b int) int { return max(-1, min(1, a-b)) }
