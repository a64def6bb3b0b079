package e2e_test

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// lan is the network of a test's hosts: a bridge in the network namespace of this process,
// and a namespace for each host.
type lan struct {
	bridge *netlink.Bridge
	hosts  []*host
}

// host is a machine of the lan: processes that are started in it see its network alone.
type host struct {
	name  string
	addrs []netip.Addr
	mac   net.HardwareAddr

	lan  *lan
	ns   netns.NsHandle
	net  *netlink.Handle // of ns
	link netlink.Link    // in ns
	port netlink.Link    // of the bridge
}

// lanPrefix is the lan's network. This process is its first address.
//
//nolint:gochecknoglobals // a constant, but for its type
var lanPrefix = netip.MustParsePrefix("10.77.0.0/24")

// nowhere is an address that no host of the lan has: what is sent there vanishes.
//
//nolint:gochecknoglobals // a constant, but for its type
var nowhere = net.HardwareAddr{2, 0, 0, 0, 255, 255}

func newLAN(t *testing.T) *lan {
	t.Helper()
	l := &lan{bridge: &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "lan"}}}
	if err := netlink.LinkAdd(l.bridge); err != nil {
		t.Skipf("no bridge can be made here: %v", err)
	}
	require.NoError(t, netlink.AddrAdd(l.bridge, ipNet(lanPrefix.Addr().Next(), lanPrefix.Bits())))
	require.NoError(t, netlink.LinkSetUp(l.bridge))
	lo, err := netlink.LinkByName("lo")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(lo))
	return l
}

// add adds a host. All hosts know each other's hardware addresses, as if a router were between
// them. So the system does not notice that another host is gone.
func (l *lan) add(t *testing.T, name string, addrs ...netip.Addr) *host {
	t.Helper()
	h := &host{name: name, addrs: addrs, lan: l, mac: net.HardwareAddr{2, 0, 0, 0, 0, byte(len(l.hosts) + 1)}}
	require.NoError(t, onThread(func() (err error) {
		h.ns, err = netns.New()
		return err
	}))
	t.Cleanup(func() { require.NoError(t, h.ns.Close()) })
	// the peer may not be called eth0 before it has moved, if this process has one
	veth := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: "to-" + name, MasterIndex: l.bridge.Attrs().Index},
		PeerName:  "of-" + name, PeerHardwareAddr: h.mac, PeerNamespace: netlink.NsFd(h.ns),
	}
	require.NoError(t, netlink.LinkAdd(veth))
	h.port = veth
	require.NoError(t, netlink.LinkSetUp(veth))
	var err error
	h.net, err = netlink.NewHandleAt(h.ns)
	require.NoError(t, err)
	t.Cleanup(h.net.Close)
	lo, err := h.net.LinkByName("lo")
	require.NoError(t, err)
	require.NoError(t, h.net.LinkSetUp(lo))
	h.link, err = h.net.LinkByName(veth.PeerName)
	require.NoError(t, err)
	for _, addr := range addrs {
		require.NoError(t, h.net.AddrAdd(h.link, ipNet(addr, lanPrefix.Bits())))
	}
	require.NoError(t, h.net.LinkSetUp(h.link))
	for _, other := range l.hosts {
		other.knows(t, h.mac, h.addrs...)
		h.knows(t, other.mac, other.addrs...)
	}
	l.hosts = append(l.hosts, h)
	return h
}

// knows has a host send what is for these addresses to a hardware address.
func (h *host) knows(t *testing.T, mac net.HardwareAddr, addrs ...netip.Addr) {
	t.Helper()
	for _, addr := range addrs {
		require.NoError(t, h.net.NeighSet(&netlink.Neigh{
			LinkIndex: h.link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: addr.AsSlice(), HardwareAddr: mac,
		}))
	}
}

// cutOff takes the host from the lan: what it sends and what is sent to it vanishes, without a
// word.
func (h *host) cutOff(t *testing.T) {
	t.Helper()
	require.NoError(t, netlink.LinkSetNoMaster(h.port))
}

// join takes that back.
func (h *host) join(t *testing.T) {
	t.Helper()
	require.NoError(t, netlink.LinkSetMaster(h.port, h.lan.bridge))
}

// loses has what the host sends to addresses of another one vanish, until finds is called.
func (h *host) loses(t *testing.T, addrs ...netip.Addr) {
	t.Helper()
	h.knows(t, nowhere, addrs...)
}

func (h *host) finds(t *testing.T, other *host, addrs ...netip.Addr) {
	t.Helper()
	h.knows(t, other.mac, addrs...)
}

// holds gives the host all addresses of a network.
func (h *host) holds(t *testing.T, network netip.Prefix) {
	t.Helper()
	lo, err := h.net.LinkByName("lo")
	require.NoError(t, err)
	require.NoError(t, h.net.RouteAdd(&netlink.Route{
		LinkIndex: lo.Attrs().Index, Dst: ipNet(network.Addr(), network.Bits()).IPNet,
		Type: localRoute, Table: localTable, Scope: netlink.SCOPE_HOST,
	}))
	for _, other := range h.lan.hosts {
		if other != h {
			require.NoError(t, other.net.RouteAdd(&netlink.Route{
				LinkIndex: other.link.Attrs().Index, Dst: ipNet(network.Addr(), network.Bits()).IPNet, Gw: h.addrs[0].AsSlice(),
			}))
		}
	}
}

// Of Linux' rtnetlink.h: an address of this host, and the table of those.
const (
	localRoute = 2
	localTable = 255
)

// in does something on the host: sockets that it opens and processes that it starts are there.
func (h *host) in(t *testing.T, do func() error) {
	t.Helper()
	require.NoError(t, h.try(do), h.name)
}

func (h *host) try(do func() error) error {
	return onThread(func() error {
		if err := netns.Set(h.ns); err != nil {
			return fmt.Errorf("go to host %s: %w", h.name, err)
		}
		return do()
	})
}

// onThread does something on a thread of its own, which ends with it.
func onThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		done <- do()
	}()
	return <-done
}

func ipNet(addr netip.Addr, bits int) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: addr.AsSlice(), Mask: net.CIDRMask(bits, addr.BitLen())}}
}

// relay passes connections to an address of the host on to one of its loopback, as a load
// balancer does. It does not look whether who has connected is still there.
func (h *host) relay(t *testing.T, from netip.AddrPort, to string) {
	t.Helper()
	var listener net.Listener
	h.in(t, func() (err error) {
		listener, err = (&net.ListenConfig{KeepAlive: -1}).Listen(t.Context(), "tcp4", from.String())
		return err
	})
	g := &gateway{listener: listener}
	g.dial = func() (back net.Conn, err error) {
		err = h.try(func() error {
			back, err = (&net.Dialer{}).Dial("tcp4", to)
			return err
		})
		return back, err
	}
	g.serve(t)
}

// start starts a program on the host.
func (h *host) start(t *testing.T, env []string, bin string, args ...string) (p *process) {
	t.Helper()
	h.in(t, func() (err error) {
		p, err = launch(env, bin, args...)
		return err
	})
	p.endWith(t)
	return p
}
