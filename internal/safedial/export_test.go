package safedial

import (
	"context"
	"net"
)

// WithBuiltIn is a dialer whose built-in way to connect is another one.
func (d *Dialer) WithBuiltIn(dial func(ctx context.Context, network, address string) (net.Conn, error)) *Dialer {
	changed := *d
	changed.builtIn = dial
	return &changed
}
