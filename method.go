package pawl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// methodRef is what is known of a method expression, by its code pointer.
type methodRef struct {
	name string
	err  *Error // why it cannot be called
	// home remembers where its last call found the type; see App.home.
	home atomic.Pointer[home]
}

// methodRefs is copied on write: it is read with every call and grows with the
// number of method expressions in the program.
var methodRefs struct {
	sync.Mutex
	byCode atomic.Pointer[map[uintptr]*methodRef]
}

var nilMethod = &methodRef{err: &Error{Code: ErrBadMethod, Err: errors.New("the method is nil")}}

// methodOf finds the name of a method expression. It costs a look-up by the
// code pointer, and reads the symbol on first sight.
func methodOf[A, In, Out any](m func(A, context.Context, In) (Out, error)) *methodRef {
	if m == nil {
		return nilMethod
	}
	// A function is a pointer to its closure, which begins with the code pointer.
	pc := **(**uintptr)(unsafe.Pointer(&m))
	if known := methodRefs.byCode.Load(); known != nil {
		if ref := (*known)[pc]; ref != nil {
			return ref
		}
	}
	return learnMethod(pc, reflect.TypeFor[A]())
}

func learnMethod(pc uintptr, a reflect.Type) *methodRef {
	ref := &methodRef{}
	ref.name, ref.err = nameMethod(pc, a)
	methodRefs.Lock()
	defer methodRefs.Unlock()
	grown := map[uintptr]*methodRef{}
	if known := methodRefs.byCode.Load(); known != nil {
		if other := (*known)[pc]; other != nil {
			return other
		}
		maps.Copy(grown, *known)
	}
	grown[pc] = ref
	methodRefs.byCode.Store(&grown)
	return ref
}

// nameMethod reads the method's name off the symbol of its code, and makes sure
// that the type has it: a plain function has a symbol too.
func nameMethod(pc uintptr, a reflect.Type) (string, *Error) {
	symbol := symbolAt(pc)
	name, ok := methodName(symbol)
	if ok {
		if _, has := a.MethodByName(name); has {
			return name, nil
		}
	}
	return "", &Error{Code: ErrBadMethod, Err: at(funcPlace(pc), fmt.Errorf(
		"%s is not a method expression of %v: write it as (%v).Method, outside of generic code; "+
			"inside generic code, or for a closure, name the method through an interface that is no type parameter: "+
			"type API interface{ Method(context.Context, In) (Out, error) }, and API.Method",
		shortSymbol(symbol), a, a))}
}

// symbolAt gives the name of the function with the entry pc. FuncForPC answers
// with an inlined function's name if the first instruction came from one; then
// it makes a new answer each time, which tells the two apart, and the name is
// read further down in the same code.
func symbolAt(pc uintptr) string {
	f := runtime.FuncForPC(pc)
	if f == nil {
		return "?"
	}
	entry := f.Entry()
	for p := pc; f != nil && f.Entry() == entry; p++ {
		if f == runtime.FuncForPC(p) {
			return f.Name()
		}
		f = runtime.FuncForPC(p + 1)
	}
	return runtime.FuncForPC(pc).Name()
}

// methodName reads "Deposit" off "path/of/bank.(*Account).Deposit". It refuses
// closures ("bank.open.func1"), method values ("bank.(*Account).Deposit-fm") and
// what has no receiver ("bank.Deposit"). A package's own dots are escaped.
func methodName(symbol string) (string, bool) {
	s := strings.ReplaceAll(shortSymbol(symbol), "[...]", "")
	_, s, _ = strings.Cut(s, ".") // the package
	dot := strings.LastIndexByte(s, '.')
	if dot <= 0 {
		return "", false
	}
	name := s[dot+1:]
	first, _ := utf8.DecodeRuneInString(name)
	return name, unicode.IsUpper(first) && !strings.ContainsAny(name, "-·")
}

// shortSymbol drops the directories of the package.
func shortSymbol(symbol string) string {
	return symbol[strings.LastIndexByte(symbol, '/')+1:]
}
