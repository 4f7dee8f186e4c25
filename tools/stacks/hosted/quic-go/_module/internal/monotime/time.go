// Package monotime replaces quic-go's package of this name, with the same interface. Time is that of the bubble in which
// the stack runs (hosted_test.go), and the time of the connection's timer is noted: quic-go sets it to Until(deadline).
package monotime

import "time"

// Bubbles of testing/synctest begin at midnight, 1 January 2000 UTC.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Origin is the time at which the bubble begins: quic-go takes a time of zero for none, and 42 ms for one in the past.
const Origin = Time(time.Hour)

// deadline is the argument of the last call of Until. One goroutine runs at a time, so that it takes no lock.
var deadline Time

// Time is a time in nanoseconds; zero is none.
type Time int64

// Now is the present time.
func Now() Time { return FromTime(time.Now()) }

// FromTime converts a time of the bubble.
func FromTime(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Origin.Add(t.Sub(start))
}

// ToTime is the reverse of FromTime.
func (t Time) ToTime() time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return start.Add(t.Sub(Origin))
}

// Since is the time from t until now.
func Since(t Time) time.Duration { return Now().Sub(t) }

// Until is the time from now until t, which becomes the deadline.
func Until(t Time) time.Duration {
	deadline = t
	return t.Sub(Now())
}

// Deadline is the time to which the connection's timer was set last; zero: it was not.
func Deadline() Time { return deadline }

// Sub is the time from other until t.
func (t Time) Sub(other Time) time.Duration { return time.Duration(t - other) }

// Add is the time d after t.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// After is whether t is later than other.
func (t Time) After(other Time) bool { return t > other }

// Before is whether t is earlier than other.
func (t Time) Before(other Time) bool { return t < other }

// Equal is whether t is other.
func (t Time) Equal(other Time) bool { return t == other }

// IsZero is whether t is none.
func (t Time) IsZero() bool { return t == 0 }
