package hosted

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
)

// Reno is what quic-go uses; its CUBIC is not reached by any setting.
var controllers = []string{"reno", "cubic"}

func controllerOf(name string) (string, error) {
	for _, known := range controllers {
		if name == "" || name == known {
			return known, nil
		}
	}
	return "", fmt.Errorf("no congestion control is called '%s': %s", name, strings.Join(controllers, ", "))
}

// configOf is quic-go's configuration, by default its own but for the largest datagram.
func configOf(given start) (*quic.Config, error) {
	config := &quic.Config{}
	for part := range strings.SplitSeq(given.options, ",") {
		if part == "" {
			continue
		}
		key, text, _ := strings.Cut(part, "=")
		number, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: '%s' is not a number", key, text)
		}
		switch key {
		case "window":
			config.InitialStreamReceiveWindow, config.MaxStreamReceiveWindow = number, number
			config.InitialConnectionReceiveWindow, config.MaxConnectionReceiveWindow = number, number
		case "mtu":
			largest := min(uint64(given.maxDatagram), 1452) // quic-go has no larger ones
			if number < 1200 || number > largest {
				return nil, fmt.Errorf("mtu: %d is not from 1200 to %d", number, largest)
			}
			config.InitialPacketSize = uint16(number)
		case "mtud":
			config.DisablePathMTUDiscovery = number == 0
		case "idle":
			config.MaxIdleTimeout = time.Duration(number) * time.Second
			config.HandshakeIdleTimeout = config.MaxIdleTimeout
		default:
			return nil, fmt.Errorf("no option is called '%s': window, mtu, mtud, idle", key)
		}
	}
	return config, nil
}

// tlsOf is the configuration of TLS. Clients do not verify the certificate, since both ends are processes of one run.
func tlsOf(isSender bool) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"cwndlab"}}
	if isSender {
		config.ServerName, config.InsecureSkipVerify = "localhost", true
		return config, nil
	}
	// Signatures of Ed25519 have a fixed length.
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: begin, NotAfter: begin.AddDate(90, 0, 0),
	}
	certificate, err := x509.CreateCertificate(nil, template, template, public, key)
	if err != nil {
		return nil, err
	}
	config.Certificates = []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}
	return config, nil
}
