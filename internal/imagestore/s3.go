package imagestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
)

const (
	exampleS3 = "s3://BUCKET?region=REGION"
	accessS3  = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
)

// paramsS3 are the parameters that a URL may have. No value of one is a secret.
var paramsS3 = strings.Fields(`region endpoint use_path_style profile role anonymous dualstack fips accelerate
	disable_https ssetype kmskeyid`)

// bucket is a place in a service that speaks S3's protocol.
type bucket struct {
	client *s3.Client
	name   string
	sse    types.ServerSideEncryption
	kmsKey *string
}

// openBucket also finds the region and the credentials, which the library leaves for the
// first request.
func openBucket(ctx context.Context, u *url.URL) (*bucket, error) {
	query := u.Query()
	on := make(map[string]bool)
	for _, name := range []string{"use_path_style", "anonymous", "dualstack", "fips", "accelerate", "disable_https"} {
		yes, err := strconv.ParseBool(cmp.Or(query.Get(name), "false"))
		if err != nil {
			return nil, fmt.Errorf("%s=%s: want true or false", name, query.Get(name))
		}
		on[name] = yes
	}
	b := &bucket{name: u.Host}
	if kind := query.Get("ssetype"); kind != "" {
		i := slices.IndexFunc(b.sse.Values(), func(v types.ServerSideEncryption) bool { return strings.EqualFold(string(v), kind) })
		if i < 0 {
			return nil, fmt.Errorf("ssetype=%s: want one of %v", kind, b.sse.Values())
		}
		b.sse = b.sse.Values()[i]
	}
	if id := query.Get("kmskeyid"); id != "" {
		b.kmsKey = &id
	}
	conf, err := configure(ctx, query, on["anonymous"])
	if err != nil {
		return nil, err
	}
	b.client = s3.NewFromConfig(conf, speakPlainly, func(o *s3.Options) {
		if endpoint := query.Get("endpoint"); endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
		o.UsePathStyle = on["use_path_style"]
		o.UseAccelerate = on["accelerate"]
		o.EndpointOptions.DisableHTTPS = on["disable_https"]
		if on["dualstack"] {
			o.EndpointOptions.UseDualStackEndpoint = aws.DualStackEndpointStateEnabled
		}
		if on["fips"] {
			o.EndpointOptions.UseFIPSEndpoint = aws.FIPSEndpointStateEnabled
		}
	})
	return b, nil
}

// configure finds the region and the credentials.
func configure(ctx context.Context, query url.Values, anonymous bool) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}),       // it would write lines of its own to stderr
		config.WithRegion(query.Get("region")), // where it is empty, as the environment says
		config.WithSharedConfigProfile(query.Get("profile")),
		config.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.RateLimiter = ratelimit.None })
		}),
	}
	if anonymous {
		options = append(options, config.WithCredentialsProvider(aws.AnonymousCredentials{}))
	}
	conf, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return conf, err
	}
	if conf.Region == "" {
		return conf, errors.New("it has no region: add region=REGION to the URL, or set AWS_REGION")
	}
	if role := query.Get("role"); role != "" {
		conf.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(conf), role))
	}
	if anonymous && query.Get("role") == "" {
		return conf, nil
	}
	if _, err := conf.Credentials.Retrieve(ctx); err != nil {
		return conf, fmt.Errorf("it has no credentials: %s: %w", accessS3, err)
	}
	return conf, nil
}

// speakPlainly leaves out what services other than AWS's do not understand. CRC-32: each
// upload has a signed SHA-256 instead, and what is read is hashed anyway. Accept-Encoding:
// Google's servers change it, which makes the signature wrong.
func speakPlainly(o *s3.Options) {
	o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	o.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.DisableCompression = true })
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		_, err := stack.Finalize.Remove("DisableAcceptEncodingGzip")
		return err
	})
}

// write sends an object in one request, with its SHA-256, which the service checks.
func (b *bucket) write(ctx context.Context, o object, body io.ReadSeeker) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.name, Key: &o.key, Body: body, ContentLength: &o.size, ContentType: &o.mediaType,
		ServerSideEncryption: b.sse, SSEKMSKeyId: b.kmsKey,
	}, s3.WithAPIOptions(func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("SHA256", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			return next.HandleInitialize(v4.SetPayloadHash(ctx, o.sha), in)
		}), middleware.After)
	}))
	return err
}

func (b *bucket) read(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &key})
	if err != nil {
		return nil, 0, err
	}
	return out.Body, aws.ToInt64(out.ContentLength), nil
}

func (b *bucket) stat(ctx context.Context, key string) (int64, time.Time, error) {
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: &key})
	if err != nil {
		return 0, time.Time{}, err
	}
	return aws.ToInt64(out.ContentLength), aws.ToTime(out.LastModified), nil
}

func (b *bucket) remove(ctx context.Context, key string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key})
	return err
}

func (b *bucket) list(ctx context.Context, yield func(Object) error) (others int, err error) {
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return others, err
		}
		for _, o := range page.Contents {
			found, ok := parseKey(aws.ToString(o.Key))
			if !ok {
				others++
				continue
			}
			found.Bytes, found.Written = aws.ToInt64(o.Size), aws.ToTime(o.LastModified).UTC()
			if err := yield(found); err != nil {
				return others, err
			}
		}
	}
	return others, nil
}
