-- name: SlotTake :one
SELECT
    a.granted::boolean AS granted,
    a.wait_ms::bigint AS wait_ms,
    a.reason::text AS reason
FROM slot_take(
    @domain::text, @shared::text [], @shared_delay_ms::bigint [], @holder::text,
    @hold_ms::bigint, @span_ms::bigint, @queued::boolean
) AS a;

-- name: SlotRelease :exec
SELECT slot_release(
    @domain::text, @shared::text [], array_fill(0::bigint, ARRAY[cardinality(@shared::text [])]),
    @holder::text, 0::bigint, 0::bigint, ''::text
);

-- name: RequestFinish :exec
SELECT request_finish(
    @domain::text, @ip::text, @shared::text [], @shared_delay_ms::bigint [], @holder::text,
    @kind::text, @url::text, @since_end_ms::bigint, @duration_ms::bigint, @status_code::integer,
    @delay_ms::bigint, @reason::text, @retry_after_ms::bigint
);

-- name: SlotGet :one
SELECT * FROM politeness_slots WHERE key = @key;
