package congestion

// HostedState is what a congestion control reports: bytes, and a pacing rate in bit/s.
type HostedState struct {
	Window, Threshold, PacingRate uint64
	// Cutback is the largest packet number that had been sent at the last reduction.
	Cutback int64
}

// Hosted reads the state of a congestion control.
func Hosted(control SendAlgorithm) HostedState {
	sender := control.(*cubicSender)
	return HostedState{
		Window:     uint64(sender.congestionWindow),
		Threshold:  uint64(sender.slowStartThreshold),
		PacingRate: uint64(sender.pacingRate()),
		Cutback:    int64(sender.largestSentAtLastCutback),
	}
}

// HostedUseCubic makes a new congestion control that of CUBIC: quic-go has both in one type, and chooses Reno.
func HostedUseCubic(control SendAlgorithm) { control.(*cubicSender).reno = false }
