package intake

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"github.com/backsight/backsight/service/inbox"
)

// maxDatagram bounds a message: RFC 5426, 3.2, has receivers take 2048 bytes, and many senders send more.
const maxDatagram = 8 << 10

// Syslog takes what devices log by UDP (RFC 5426), until ctx ends: each address is a console of a project.
func (s *Server) Syslog(ctx context.Context, conn net.PacketConn, key inbox.Key) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends ReadFrom
	defer stop()
	b := make([]byte, maxDatagram)
	for {
		n, from, err := conn.ReadFrom(b[:len(b)-1])
		switch {
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return ctx.Err()
		case err != nil:
			return err
		}
		device := from.String()
		if at, err := netip.ParseAddrPort(device); err == nil {
			device = at.Addr().Unmap().String()
		}
		if n > 0 && b[n-1] != '\n' {
			b[n] = '\n'
			n++
		}
		if err := s.Consoles.Add(key, device, b[:n]); err != nil {
			s.Metrics.dropped("syslog")
		}
	}
}
