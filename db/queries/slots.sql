-- name: SlotTake :one
SELECT
    a.granted::boolean AS granted,
    a.wait_ms::bigint AS wait_ms,
    a.reason::text AS reason
FROM slot_take(
    @domain::text, @ip::text, @holder::text, @hold_ms::bigint, @ip_delay_ms::bigint, @queued::boolean
) AS a;

-- name: SlotRelease :exec
SELECT slot_release(
    @domain::text, @ip::text, @holder::text, @since_end_ms::bigint,
    @delay_ms::bigint, @ip_delay_ms::bigint, @reason::text
);

-- name: SlotGet :one
SELECT * FROM politeness_slots WHERE key = @key;
