SELECT char(10) || '## Feedback' || char(10) || CASE
    WHEN feedback IS NULL THEN '    none'
    WHEN text(feedback) <> '' AND EXISTS (SELECT 1 FROM call WHERE task = :task
        AND attempt = :attempt AND stripped(text(reply)) = stripped(text(feedback)))
        THEN '    the whole reply above'
    ELSE block(text(feedback)) END
    || char(10, 10) || '## Trace'
FROM attempt LEFT JOIN verdict USING (task, attempt) WHERE task = :task AND attempt = :attempt;
