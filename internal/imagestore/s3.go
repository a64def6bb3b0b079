package imagestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"
	"gopkg.in/ini.v1"
)

const (
	exampleS3 = "s3://BUCKET?region=REGION"
	accessS3  = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
	maxTries  = 3 // for requests that may succeed later
)

// paramsS3 are the accepted parameters of a URL. None of their values is a secret.
var paramsS3 = strings.Fields(`region endpoint use_path_style profile role anonymous dualstack fips accelerate
	disable_https ssetype kmskeyid`)

// bucket is a bucket of a service with S3's protocol.
type bucket struct {
	client minio.Core
	name   string
	sse    encrypt.ServerSide
}

// openBucket finds the region and the credentials before the first request.
func openBucket(ctx context.Context, u *url.URL) (*bucket, error) {
	query := u.Query()
	enabled := make(map[string]bool)
	for _, name := range []string{"use_path_style", "anonymous", "dualstack", "fips", "accelerate", "disable_https"} {
		value, err := strconv.ParseBool(cmp.Or(query.Get(name), "false"))
		if err != nil {
			return nil, fmt.Errorf("%s=%s: want true or false", name, query.Get(name))
		}
		enabled[name] = value
	}
	sse, err := encryption(query.Get("ssetype"), query.Get("kmskeyid"))
	if err != nil {
		return nil, err
	}
	region := cmp.Or(query.Get("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), profileRegion(query.Get("profile")))
	if region == "" {
		return nil, errors.New("the region is missing: add region=REGION to the URL, or set AWS_REGION")
	}
	host, secure := "s3."+region+".amazonaws.com", !enabled["disable_https"]
	if enabled["fips"] {
		host = "s3-fips." + region + ".amazonaws.com"
	}
	endpoint := cmp.Or(query.Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	if e, err := url.Parse(endpoint); err == nil && e.Host != "" {
		host, secure = e.Host, e.Scheme != "http"
	}
	creds, err := credentialsOf(ctx, region, query, enabled["anonymous"])
	if err != nil {
		return nil, err
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupDNS
	if enabled["use_path_style"] || strings.Contains(u.Host, ".") {
		lookup = minio.BucketLookupPath // no certificate is valid for a.b.s3.example
	}
	client, err := minio.NewCore(host, &minio.Options{
		Creds: creds, Secure: secure, Transport: transport, Region: region, BucketLookup: lookup, MaxRetries: maxTries,
	})
	if err != nil {
		return nil, err
	}
	client.SetS3EnableDualstack(enabled["dualstack"])
	if enabled["accelerate"] {
		client.SetS3TransferAccelerate("s3-accelerate.amazonaws.com")
	}
	return &bucket{client: *client, name: u.Host, sse: sse}, nil
}

// encryption returns the requested encryption on the service.
func encryption(kind, key string) (encrypt.ServerSide, error) {
	switch strings.ToLower(kind) {
	case "":
		return nil, nil //nolint:nilnil // it is left to the service
	case "aes256":
		return encrypt.NewSSE(), nil
	case "aws:kms":
		return encrypt.NewSSEKMS(key, nil)
	}
	return nil, fmt.Errorf("ssetype=%s: want AES256 or aws:kms", kind)
}

// credentialsOf finds the credentials like AWS's tools: in the environment, in a profile of the
// user's files, and in the machine, the container or the pod.
func credentialsOf(ctx context.Context, region string, query url.Values, anonymous bool) (*credentials.Credentials, error) {
	if anonymous {
		return credentials.NewStatic("", "", "", credentials.SignatureAnonymous), nil
	}
	providers := []credentials.Provider{&credentials.FileAWSCredentials{Profile: query.Get("profile")}}
	if query.Get("profile") == "" {
		providers = []credentials.Provider{&credentials.EnvAWS{}, providers[0]}
		contained := cmp.Or(os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
			os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"), os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE")) != ""
		if contained || !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
			providers = append(providers, &credentials.IAM{Region: region})
		}
	}
	creds := credentials.NewChainCredentials(providers)
	if arn := query.Get("role"); arn != "" {
		creds = credentials.New(&role{base: creds, arn: arn, region: region, client: &http.Client{Timeout: openTimeout}})
	}
	found := make(chan error, 1)
	go func() { // a machine without credentials is slow to respond
		value, err := creds.GetWithContext(nil)
		if err == nil && value.AccessKeyID == "" {
			err = errors.New("none found")
		}
		found <- err
	}()
	select {
	case err := <-found:
		if err != nil {
			return nil, fmt.Errorf("no credentials: %s: %w", accessS3, err)
		}
		return creds, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("no credentials: %s: %w", accessS3, ctx.Err())
	}
}

// profileRegion returns the region of a profile in AWS's config file, or an empty string.
func profileRegion(profile string) string {
	home, _ := os.UserHomeDir() // without a home directory there is no such file
	file, err := ini.Load(cmp.Or(os.Getenv("AWS_CONFIG_FILE"), filepath.Join(home, ".aws", "config")))
	if err != nil {
		return ""
	}
	section := "default"
	if profile = cmp.Or(profile, os.Getenv("AWS_PROFILE")); profile != "" {
		section = "profile " + profile
	}
	return file.Section(section).Key("region").String()
}

// role assumes a role of AWS with other credentials, and again whenever it expires.
type role struct {
	credentials.Expiry

	base        *credentials.Credentials
	arn, region string
	client      *http.Client
}

func (r *role) Retrieve() (credentials.Value, error) { return r.RetrieveWithCredContext(nil) }

// RetrieveWithCredContext requests credentials from AWS's security token service.
func (r *role) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	baseCreds, err := r.base.GetWithContext(cc)
	if err != nil {
		return credentials.Value{}, err
	}
	sts := credentials.STSAssumeRole{
		Client:      r.client,
		STSEndpoint: cmp.Or(os.Getenv("AWS_ENDPOINT_URL_STS"), os.Getenv("AWS_ENDPOINT_URL"), "https://sts."+r.region+".amazonaws.com"),
		Options: credentials.STSAssumeRoleOptions{
			AccessKey: baseCreds.AccessKeyID, SecretKey: baseCreds.SecretAccessKey, SessionToken: baseCreds.SessionToken,
			Location: r.region, RoleARN: r.arn, RoleSessionName: "mosey",
		},
	}
	value, err := sts.RetrieveWithCredContext(cc)
	if err != nil {
		return value, fmt.Errorf("AssumeRole %s: %w", r.arn, err)
	}
	r.SetExpiration(value.Expiration, credentials.DefaultExpiryWindow)
	return value, nil
}

// write sends an object in one request with its SHA-256, but without checksums that only AWS knows.
func (b *bucket) write(ctx context.Context, o object, body io.ReadSeeker) error {
	_, err := b.client.PutObject(ctx, b.name, o.key, body, o.size, "", o.sha, minio.PutObjectOptions{
		ContentType: o.mediaType, ServerSideEncryption: b.sse, DisableContentSha256: true,
	})
	return err
}

func (b *bucket) read(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error) {
	var options minio.GetObjectOptions
	if length > 0 {
		if err := options.SetRange(offset, offset+length-1); err != nil {
			return nil, 0, err
		}
	}
	body, info, _, err := b.client.GetObject(ctx, b.name, key, options)
	return body, info.Size, err
}

func (b *bucket) stat(ctx context.Context, key string) (int64, time.Time, error) {
	info, err := b.client.StatObject(ctx, b.name, key, minio.StatObjectOptions{})
	return info.Size, info.LastModified, err
}

func (b *bucket) remove(ctx context.Context, key string) error {
	return b.client.RemoveObject(ctx, b.name, key, minio.RemoveObjectOptions{})
}

func (b *bucket) walk(ctx context.Context, prefix string, yield func(entry) error) error {
	for o := range b.client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Recursive: true, Prefix: prefix}) {
		if o.Err != nil {
			return o.Err
		}
		if err := yield(entry{key: o.Key, size: o.Size, written: o.LastModified}); err != nil {
			return err
		}
	}
	return nil
}
