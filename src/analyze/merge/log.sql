-- One row: what a run is called, how it ended, and how many entries it began with.
SELECT :nr AS nr, :name AS name,
    CASE WHEN :pid THEN 'running' ELSE coalesce((
        -- Without an end it was killed; another program may have written other words.
        SELECT CASE kind WHEN 'begun' THEN 'killed' ELSE text END FROM event
        WHERE kind = 'begun' OR (kind = 'ended' AND text IN ('running', 'finished',
            'waiting', 'out of budget', 'stopped', 'stuck', 'failed', 'killed', 'unknown'))
        ORDER BY seq DESC LIMIT 1), 'unknown') END AS state,
    (SELECT count(*) FROM entry WHERE origin <> 'run') AS seeds;
