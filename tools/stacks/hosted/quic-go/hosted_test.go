// Package hosted is quic-go as a hosted stack: docs/host.md. Controllers: reno (default), cubic. Options: window=BYTES, the
// flow control's; mtu=BYTES, the first datagrams' size; mtud=0; idle=SECONDS, by default 5 in the
// handshake and 30 after it.
//
// quic-go reads the clock and sets timers in goroutines of its own, so that the stack runs in a bubble of testing/synctest.
// Its clock stands still while a goroutine may run, or reads standard input; Wait returns when all others are idle, and a
// Sleep of this goroutine lets timers up to the time of a call expire, to the nanosecond. What a bubble does not tell is the
// time of its next timer: quic-go's package of the time, of fifty lines, is replaced by one that notes it (_module).
// Bubbles, and random numbers of a seed for all of crypto, exist for tests only: the program is one, of `go test -c`.
//
// The other files of _module are additions to quic-go's packages. Nothing else of quic-go changes.
package hosted

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
)

// TestMain has goroutines run one at a time, so that they run in the same order each time.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}

// TestStack answers calls until standard input ends.
func TestStack(t *testing.T) {
	source := bufio.NewReaderSize(os.Stdin, 1<<16)
	first, err := readCall(source)
	if err != nil {
		os.Exit(0)
	}
	given, err := first.start()
	if err != nil {
		refuse(err)
	}
	// What changes bits is drawn from it: packet numbers that are skipped, the lengths of a greased transport parameter and of
	// the first connection ID, the packets until that changes, the order of frames. The ends of a flow may have one seed.
	seed := given.seed << 1
	if given.isSender {
		seed |= 1
	}
	cryptotest.SetGlobalRandom(t, seed)
	synctest.Test(t, func(*testing.T) {
		stack, err := newStack(given)
		if err != nil {
			refuse(err)
		}
		stack.serve(source)
		os.Exit(0)
	})
}

// refuse answers the first call with a failure.
func refuse(err error) {
	refused := newAnswer()
	refused.failure(err.Error())
	if err := refused.write(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(0)
}
