#!/bin/sh
# Makes the bucket for images, unless it is there. Safe to run again.
set -eu

buckets() { echo 's3.bucket.list' | weed shell -master=images:9333 -filer=images:8888; }

until buckets | grep -qw images; do
	echo 's3.bucket.create -name images' | weed shell -master=images:9333 -filer=images:8888 || true
	sleep 1
done
