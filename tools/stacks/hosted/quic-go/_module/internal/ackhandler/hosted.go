package ackhandler

import "github.com/quic-go/quic-go/internal/congestion"

// Hosted reads the state of the congestion control, and the bytes in flight.
func Hosted(handler SentPacketHandler) (congestion.HostedState, uint64) {
	h := handler.(*sentPacketHandler)
	return congestion.Hosted(h.congestion), uint64(h.bytesInFlight)
}

// HostedUseCubic makes the congestion control of a new connection that of CUBIC.
func HostedUseCubic(handler SentPacketHandler) {
	congestion.HostedUseCubic(handler.(*sentPacketHandler).congestion)
}
