package temporal

import (
	"context"
	"net"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// shortcut passes requests between services of this process without a connection. Otherwise they
// spend most of their time on framing, flow control and goroutine switches. Unknown requests and
// streams use the connection. It is safe for concurrent use.
type shortcut struct {
	methods sync.Map // a full method name, such as /package.Service/Method, to a method
}

// method handles one kind of request in this process.
type method struct {
	service     any
	handler     grpc.MethodHandler
	interceptor grpc.UnaryServerInterceptor
}

func (s *shortcut) add(desc *grpc.ServiceDesc, service any, interceptors ...grpc.UnaryServerInterceptor) {
	for _, m := range desc.Methods {
		s.methods.Store(fullMethod(desc, m), method{service, m.Handler, chain(interceptors)})
	}
}

// remove makes requests to a service use the connection again.
func (s *shortcut) remove(desc *grpc.ServiceDesc) {
	for _, m := range desc.Methods {
		s.methods.Delete(fullMethod(desc, m))
	}
}

func fullMethod(desc *grpc.ServiceDesc, m grpc.MethodDesc) string {
	return "/" + desc.ServiceName + "/" + m.MethodName
}

// chain combines interceptors. The first is the outermost.
func chain(interceptors []grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		for _, interceptor := range slices.Backward(interceptors) {
			next := handler
			handler = func(ctx context.Context, req any) (any, error) {
				return interceptor(ctx, req, info, next)
			}
		}
		return handler(ctx, req)
	}
}

// intercept is a grpc.UnaryClientInterceptor. It must be the last interceptor of a connection to
// this process.
func (s *shortcut) intercept(
	ctx context.Context, name string, req, reply any, conn *grpc.ClientConn, invoker grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	found, known := s.methods.Load(name)
	request, isMessage := req.(proto.Message)
	answer, takesMessage := reply.(proto.Message)
	if !known || !isMessage || !takesMessage {
		return invoker(ctx, name, req, reply, conn, opts...)
	}
	m, call := found.(method), &transport{name: name} //nolint:forcetypeassert // nothing else is stored
	ctx, cancel := serviceContext(ctx, call)
	defer cancel()
	// Both sides keep using their messages, so each gets a copy.
	response, err := m.handler(m.service, ctx, func(in any) error {
		return transfer(in.(proto.Message), request) //nolint:forcetypeassert // the generated handler's
	}, m.interceptor)
	call.answer(opts)
	if err != nil {
		return asStatus(err)
	}
	return transfer(answer, response.(proto.Message)) //nolint:forcetypeassert // the generated handler's
}

// transfer copies a message into an empty one. Some services respond with another type of the same
// encoding.
func transfer(to, from proto.Message) error {
	if to.ProtoReflect().Descriptor() == from.ProtoReflect().Descriptor() {
		proto.Merge(to, from)
		return nil
	}
	encoded, err := proto.Marshal(from)
	if err == nil {
		err = proto.Unmarshal(encoded, to)
	}
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// serviceContext returns the service's context of a request. It ends with the caller's context, and
// only inherits the headers.
func serviceContext(caller context.Context, call *transport) (context.Context, context.CancelFunc) {
	headers, _ := metadata.FromOutgoingContext(caller) // a copy
	ctx := metadata.NewIncomingContext(context.Background(), headers)
	ctx = peer.NewContext(ctx, localPeer)
	ctx = grpc.NewContextWithServerTransportStream(ctx, call)
	var cancel context.CancelFunc
	if deadline, ok := caller.Deadline(); ok {
		ctx, cancel = context.WithDeadline(ctx, deadline)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	stop := context.AfterFunc(caller, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

var localPeer = &peer.Peer{Addr: &net.TCPAddr{IP: net.ParseIP(loopback)}}

// asStatus converts an error to the caller's error over a connection.
func asStatus(err error) error {
	if s, ok := status.FromError(err); ok {
		return s.Err()
	}
	return status.FromContextError(err).Err()
}

// transport receives the headers and trailers of a response.
type transport struct {
	name            string
	mu              sync.Mutex
	header, trailer metadata.MD
}

var _ grpc.ServerTransportStream = (*transport)(nil)

func (t *transport) Method() string { return t.name }

func (t *transport) SetHeader(md metadata.MD) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.header = metadata.Join(t.header, md)
	return nil
}

// SendHeader calls SetHeader, because headers travel with the response.
func (t *transport) SendHeader(md metadata.MD) error { return t.SetHeader(md) }

func (t *transport) SetTrailer(md metadata.MD) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trailer = metadata.Join(t.trailer, md)
	return nil
}

func (t *transport) answer(opts []grpc.CallOption) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, opt := range opts {
		switch o := opt.(type) {
		case grpc.HeaderCallOption:
			*o.HeaderAddr = t.header
		case grpc.TrailerCallOption:
			*o.TrailerAddr = t.trailer
		}
	}
}
