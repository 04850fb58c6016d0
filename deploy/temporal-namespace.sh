#!/bin/sh
# Makes the namespace TEMPORAL_NAMESPACE at TEMPORAL_ADDRESS, if it is not there.
set -eu

until temporal operator cluster health >/dev/null 2>&1; do
  echo "waiting for Temporal at $TEMPORAL_ADDRESS"
  sleep 1
done
if temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
  echo "namespace $TEMPORAL_NAMESPACE is there"
else
  # The server's own 24 hours would drop every continued run after a day.
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 720h
fi
