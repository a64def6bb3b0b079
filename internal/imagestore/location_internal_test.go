package imagestore

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

func TestParseLocation(t *testing.T) {
	t.Parallel()

	t.Run("RefusesWhatMakesNoSense", func(t *testing.T) {
		t.Parallel()
		for where, want := range map[string]string{
			"":                                 "name a directory or a URL",
			"ftp://user:hunter2@host/x":        "images in ftp://host: unknown scheme ftp://: name a directory, or use file://, s3://",
			"mem://":                           "unknown scheme mem://",
			"s3:images":                        "write s3://",
			"S3:images":                        "two slashes are missing",
			"s3://":                            "the URL must name a bucket and nothing else: write s3://BUCKET?region=REGION",
			"s3://images/hunter2":              "images in s3://images: the URL must name a bucket and nothing else",
			"s3://127.0.0.1:9000/images":       "the URL must name a bucket and nothing else",
			"s3://images?region=x#x":           "the URL must name a bucket and nothing else",
			"s3://key:hunter2@images":          "images in s3://images: the URL has credentials, which would end up in logs: set AWS_ACCESS_KEY_ID",
			"s3://key:hunter2/+@images":        "the URL cannot be parsed",
			"s3://images?secret=hunter2":       `unknown parameter "secret": use region, endpoint`,
			"s3://images?region=%zz&x=hunter2": "the parameters of the URL cannot be parsed",
			"s3://images?region=x&endpoint=http://key:hunter2@minio:9000": "the endpoint is not the address of a service",
			"s3://images?region=x&endpoint=minio:9000":                    "write endpoint=https://HOST:PORT",
			"azblob://images?sig=hunter2":                                 "Azure Blob Storage has no S3 protocol: name a directory, or a bucket",
			"gs://images?private_key_path=hunter2":                        "create an HMAC key, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
			"gs://images":                                                 "s3://BUCKET?region=auto&endpoint=https://storage.googleapis.com&use_path_style=true",
			"file://images":                                               "a file URL needs three slashes",
			"file://":                                                     "a file URL needs three slashes",
			"file:/images":                                                "write file://",
			"file:///images?create_dir=hunter2":                           `unknown parameter "create_dir": leave it out`,
		} {
			_, err := parseLocation(where)
			require.ErrorIs(t, err, crawl.ErrInvalid, where)
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "hunter2")
		}
	})

	t.Run("TakesWhatDoes", func(t *testing.T) {
		t.Parallel()
		here, err := filepath.Abs("images")
		require.NoError(t, err)
		for where, want := range map[string]string{
			"images":                      here,
			"./images":                    here,
			"file://localhost" + here:     here,
			"s3://images/":                "s3://images/",
			"S3://images?region=x":        "s3://images?region=x",
			"s3://images?endpoint=http:":  "",
			"s3://images?endpoint=http:/": "",
			"s3://i?endpoint=http://minio:9000&use_path_style=true": "s3://i?endpoint=http://minio:9000&use_path_style=true",
		} {
			l, err := parseLocation(where)
			if want == "" {
				require.ErrorIs(t, err, crawl.ErrInvalid, where)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, want, l.name)
			require.Equal(t, l.dir == "", l.bucket != nil)
		}
	})
}

// mutations are texts that are like some: their beginnings, and those with one byte more,
// one less, or another.
func mutations(texts ...string) []string {
	var all []string
	for _, text := range texts {
		for i := range len(text) {
			all = append(all, text[:i], text[:i]+text[i+1:])
			for _, b := range "/:@?&=#%.\x00 é0Z" {
				all = append(all, text[:i]+string(b)+text[i:], text[:i]+string(b)+text[i+1:])
			}
		}
		all = append(all, text)
	}
	return all
}

func TestParseLocationOfAnything(t *testing.T) {
	t.Parallel()
	for _, where := range mutations("images", "s3://images?region=x", "file:///images", "s3://a:b@c", "gs://c?sig=1") {
		l, err := parseLocation(where)
		if err != nil {
			require.ErrorIs(t, err, crawl.ErrInvalid)
			continue
		}
		require.NotEmpty(t, l.name, "%q", where)
		require.Equal(t, l.dir == "", l.bucket != nil, "%q", where)
		if l.bucket != nil {
			require.Nil(t, l.bucket.User, "%q", where)
		}
	}
}

// What is in a bucket may be anybody's.
func TestParseKeyOfAnything(t *testing.T) {
	t.Parallel()
	sha := strings.Repeat("0123456789abcdef", 4)
	const stamp = ".18a5c1d2e3f40516.tmp"
	for _, key := range mutations(sha, imageKey(sha), thumbnailKey(sha), thumbnailsPrefix+imageKey(sha), "01/23/"+sha+"/",
		imageKey(sha)+stamp, thumbnailKey(sha)+stamp, probePrefix+strings.Repeat("A2", 13), probePrefix+strings.Repeat("A2", 13)+stamp) {
		o, ok := parseKey(key)
		if !ok {
			require.Zero(t, o, "%q", key)
			continue
		}
		require.Equal(t, key, o.key)
		want := probePrefix
		switch {
		case o.Thumbnail:
			want = thumbnailKey(o.SHA256)
		case o.SHA256 != "":
			want = imageKey(o.SHA256)
		}
		if o.Leftover {
			require.True(t, strings.HasPrefix(key, want), "%q", key)
		} else {
			require.Equal(t, want, key)
		}
		for dir := key; strings.Contains(dir, "/"); {
			dir = dir[:strings.LastIndexByte(dir, '/')]
			require.True(t, canHaveKeys(dir), dir)
		}
	}
}
