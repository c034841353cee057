-- One row: what a run is called and all that it did, pieces included.
SELECT :nr AS nr, :name AS name,
    CASE WHEN :pid THEN 'running' ELSE coalesce((
        -- Without an end it was killed; another program may have written other words.
        SELECT CASE kind WHEN 'begun' THEN 'killed' ELSE text END FROM event
        WHERE kind = 'begun' OR (kind = 'ended' AND text IN ('running', 'finished',
            'waiting', 'out of budget', 'stopped', 'stuck', 'failed', 'killed', 'unknown'))
        ORDER BY seq DESC LIMIT 1), 'unknown') END AS state,
    -- From what the attempts did: an option may have been changed since.
    (SELECT CASE WHEN max(retrieval = 'coverage') THEN 'coverage'
        WHEN max(retrieval = 'similar') AND max(retrieval = 'random') THEN 'alternating'
        WHEN max(retrieval = 'similar') THEN 'similar'
        WHEN max(retrieval = 'random') THEN 'random'
        ELSE '' END
     FROM attempt JOIN task ON ord = task WHERE kind IS NULL) AS retrieval,
    (SELECT count(*) FROM task WHERE kind IS NULL AND skipped IS NOT NULL) AS skipped,
    (SELECT count(*) FROM entry WHERE origin <> 'run') AS seeds,
    (SELECT count(*) FROM attempt) AS made,
    count(*) FILTER (WHERE call.state = 'answered') AS calls,
    ifnull(sum(input), 0) AS input,
    ifnull(sum(output), 0) AS output,
    ifnull(sum(cost_usd_micro), 0) AS usd_micro,
    max(estimated OR assumed_usd_micro) AS estimated
FROM call;
