#!/bin/sh
# Gives a fresh Temporal the namespace and the search attributes that Mosey's
# workflows set. Safe to run again.
set -eu

until temporal operator cluster health >/dev/null 2>&1; do sleep 1; done

temporal operator namespace describe --namespace default >/dev/null 2>&1 ||
	temporal operator namespace create --namespace default --retention 168h

# A new namespace takes some seconds to reach every part of the server.
until temporal operator search-attribute create --namespace default \
	--name MoseyDomain --type Keyword \
	--name MoseyRun --type KeywordList \
	--name MoseyStatus --type Keyword; do
	sleep 2
done
