-- An attempt for people, down to its verdict: a row is a line, or several.
SELECT '# ' || id || ', attempt ' || a.attempt || ' of '
    || (SELECT count(*) FROM attempt WHERE task = :task) || ': ' || a.verdict
    || ifnull(' (' || rule || ')', '') || ifnull(', ' || evidence, '')
    || ifnull(', ' || fixed(speedup(times, 'reference_ms'), 2) || 'x', '')
    || iif(solved, ifnull(' (hard to believe: ' || doubt(record, times) || ')', ''), '')
    || char(10) || method || ', iteration ' || iteration
    || iif(parent, ', from attempt ' || parent, '')
    || iif(island >= 0, ', island ' || island, '')
    || iif(same_as, ', the same code as attempt ' || same_as, '')
    || char(10, 10) || '## Reference' || char(10) || ifnull(block(text(source)), block(''))
FROM attempt AS a JOIN task ON ord = task LEFT JOIN verdict USING (task, attempt)
LEFT JOIN verdict_time USING (task, attempt)
WHERE a.task = :task AND a.attempt = :attempt;

SELECT char(10) || '## Examples shown (' || ifnull(retrieval, '-') || ', archive version '
    || archive_version || ')' || iif(EXISTS (
        SELECT 1 FROM shown WHERE task = :task AND attempt = :attempt), '', char(10) || '    none')
FROM attempt WHERE task = :task AND attempt = :attempt;
SELECT '    ' || rank || '  ' || ifnull(name, '?') || ' (' || ifnull(origin, '-') || '), '
    || iif(cosine < -1.5, 'not compared', 'similarity ' || fixed(cosine, 6))
    || iif(reason IS NULL, '', ', a piece of the task')
FROM shown LEFT JOIN entry USING (entry)
WHERE shown.task = :task AND shown.attempt = :attempt ORDER BY rank;

-- Prompts are long and mostly the same: their sizes are enough.
SELECT char(10) || '## Prompts (--prompt STAGE shows one)'
    || iif(count(*), '', char(10) || '    none')
FROM call WHERE task = :task AND attempt = :attempt;
SELECT '    ' || purpose || ': ' || ifnull((
    SELECT group_concat((value ->> 'role') || ' ' || length(CAST(value ->> 'text' AS BLOB))
        || ' bytes', ', ')
    FROM json_each(messages(prompt))), 'not stored')
FROM call WHERE task = :task AND attempt = :attempt ORDER BY asked_at, try, purpose, asked;
SELECT char(10) || '## Reply (' || purpose || ', ' || state || ifnull(', finish: ' || finish, '')
    || ')' || ifnull(char(10) || block(error), '') || ifnull(char(10) || block(text(reply)), '')
FROM call WHERE task = :task AND attempt = :attempt ORDER BY asked_at, try, purpose, asked;

WITH part AS MATERIALIZED (
    SELECT 'Plan' AS title, text(plan) AS text FROM attempt
    WHERE task = :task AND attempt = :attempt
    UNION ALL SELECT 'Code', text(code) FROM attempt WHERE task = :task AND attempt = :attempt)
SELECT char(10) || '## ' || title || char(10) || CASE
    WHEN text IS NULL THEN '    none'
    WHEN text <> '' AND EXISTS (SELECT 1 FROM call WHERE task = :task AND attempt = :attempt
        AND stripped(text(reply)) = stripped(text)) THEN '    the whole reply above'
    ELSE block(text) END
FROM part;

SELECT char(10) || '## Verdict' || char(10) || '    ' || a.verdict || ', stage '
    || ifnull(a.stage, '-') || ', evidence ' || ifnull(evidence, '-')
    || ifnull(', rule ' || rule, '') || iif(kernelbench_pass, ', passes KernelBench''s check', '')
FROM attempt AS a LEFT JOIN verdict USING (task, attempt)
WHERE task = :task AND attempt = :attempt;
