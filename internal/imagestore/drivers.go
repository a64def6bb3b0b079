package imagestore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcp"
	"google.golang.org/api/googleapi"
)

// driver is a kind of store. All that is known of one is in this file.
type driver struct {
	open func(context.Context, location) (*blob.Bucket, error)
	// uploads says that the driver reads the bytes itself. Azure's Writer panics where an
	// upload fails (v0.47); what reads itself cannot be given an MD5, which Google checks.
	uploads bool
	// params are those that a URL may have, none of which is a secret.
	params []string
	// example is a URL, and access how it is given credentials.
	example, access string
}

// drivers are the kinds by the schemes of their URLs.
var drivers = map[string]driver{
	fileblob.Scheme: {
		open: openDirectory, example: "file:///var/lib/mosey/images",
		access: "give this process the right to read and write the directory",
	},
	s3blob.Scheme: {
		open: openS3, uploads: true, example: "s3://BUCKET?region=REGION",
		params: strings.Fields(`region endpoint use_path_style profile role anonymous dualstack fips accelerate
				disable_https hostname_immutable ssetype kmskeyid rate_limiter_capacity
				request_checksum_calculation response_checksum_validation`),
		access: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
	},
	gcsblob.Scheme: {
		open: openGCS, example: "gs://BUCKET", params: []string{"anonymous"},
		access: "set GOOGLE_APPLICATION_CREDENTIALS to the path of a service account's key",
	},
	azureblob.Scheme: {
		open: openAzure, uploads: true, example: "azblob://CONTAINER",
		params: []string{"storage_account", "domain", "protocol", "localemu"},
		access: "set AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY, or AZURE_STORAGE_CONNECTION_STRING",
	},
}

// dirMode lets the group read, for backups and web servers; nobody else.
const dirMode = 0o750

func openDirectory(_ context.Context, l location) (*blob.Bucket, error) {
	return fileblob.OpenBucket(l.dir, &fileblob.Options{
		CreateDir: true, DirFileMode: dirMode,
		NoTempDir: true, // on the same file system, or renaming fails
		Metadata:  fileblob.MetadataDontWrite,
	})
}

// openS3 also finds the region and the credentials, which the driver leaves for the first
// request.
func openS3(ctx context.Context, l location) (*blob.Bucket, error) {
	bucket, err := new(s3blob.URLOpener).OpenBucketURL(ctx, l.url)
	if err != nil {
		return nil, err
	}
	var client *s3.Client
	if !bucket.As(&client) {
		return bucket, nil
	}
	options := client.Options()
	if options.Region == "" {
		return nil, errors.Join(errors.New("it has no region: add region=REGION to the URL, or set AWS_REGION"), bucket.Close())
	}
	if options.Credentials == nil || aws.IsCredentialsProvider(options.Credentials, (*aws.AnonymousCredentials)(nil)) {
		return bucket, nil
	}
	if _, err := options.Credentials.Retrieve(ctx); err != nil {
		return nil, errors.Join(noCredentials(l, err), bucket.Close())
	}
	return bucket, nil
}

// openGCS looks for credentials itself: the driver prints that there are none, goes on
// without, and asks a metadata server for as long as that likes.
func openGCS(ctx context.Context, l location) (*blob.Bucket, error) {
	type opened struct {
		bucket *blob.Bucket
		err    error
	}
	done := make(chan opened, 1)
	lasting := context.WithoutCancel(ctx) // the credentials keep it, to renew themselves
	go func() {
		bucket, err := openGCSBlocking(lasting, l)
		done <- opened{bucket, err}
	}()
	select {
	case o := <-done:
		return o.bucket, o.err
	case <-ctx.Done():
		return nil, noCredentials(l, ctx.Err())
	}
}

func openGCSBlocking(ctx context.Context, l location) (*blob.Bucket, error) {
	client := gcp.NewAnonymousHTTPClient(gcp.DefaultTransport())
	if l.url.Query().Get("anonymous") == "" && os.Getenv("STORAGE_EMULATOR_HOST") == "" {
		credentials, err := gcp.DefaultCredentials(ctx)
		if err != nil {
			return nil, noCredentials(l, err)
		}
		if client, err = gcp.NewHTTPClient(gcp.DefaultTransport(), gcp.CredentialsTokenSource(credentials)); err != nil {
			return nil, noCredentials(l, err)
		}
	}
	return (&gcsblob.URLOpener{Client: client}).OpenBucketURL(ctx, l.url)
}

func openAzure(ctx context.Context, l location) (*blob.Bucket, error) {
	bucket, err := blob.DefaultURLMux().OpenBucketURL(ctx, l.url)
	if err != nil {
		return nil, noCredentials(l, err)
	}
	return bucket, nil
}

func noCredentials(l location, err error) error {
	return fmt.Errorf("it has no credentials: %s: %w", l.driver.access, err)
}

// answer is what a service says in an error: its HTTP status, and its own word for it. It
// is 0 where no service has answered.
func answer(err error) (status int, code string) {
	var (
		azure  *azcore.ResponseError
		google *googleapi.Error
		amazon interface{ HTTPStatusCode() int }
		word   interface{ ErrorCode() string }
	)
	switch {
	case errors.As(err, &azure):
		return azure.StatusCode, azure.ErrorCode
	case errors.As(err, &google):
		return google.Code, ""
	case errors.As(err, &amazon):
		if errors.As(err, &word) {
			code = word.ErrorCode()
		}
		return amazon.HTTPStatusCode(), code
	default:
		return 0, ""
	}
}

// noBucket reports whether it is the bucket that is missing.
func noBucket(status int, code string) bool {
	return status == http.StatusNotFound && (code == "NoSuchBucket" || code == "ContainerNotFound")
}
