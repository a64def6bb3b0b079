-- The domain state machine, whatever makes the change. What was given up becomes
-- active again when its time is over; what is not active cannot be exhausted.
CREATE OR REPLACE FUNCTION domains_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (
        ('pending', 'active'), ('pending', 'blocked'), ('pending', 'unreachable'),
        ('active', 'pending'), ('active', 'exhausted'), ('active', 'blocked'), ('active', 'unreachable'),
        ('exhausted', 'pending'), ('exhausted', 'blocked'),
        ('blocked', 'pending'), ('blocked', 'active'),
        ('unreachable', 'pending'), ('unreachable', 'active'), ('unreachable', 'blocked')
    ) THEN
        RAISE EXCEPTION 'domain %: status % cannot become %', OLD.domain, OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    NEW.updated_at := clock_timestamp();
    NEW.version := OLD.version + 1;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER domains_transition BEFORE UPDATE ON domains
FOR EACH ROW EXECUTE FUNCTION domains_transition();
