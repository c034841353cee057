SELECT rank, entry, ifnull(name, '?') AS name, origin,
    iif(cosine < -1.5, NULL, cosine) AS cosine, reason AS "reason:?"
FROM shown LEFT JOIN entry USING (entry)
WHERE shown.task = :task AND shown.attempt = :attempt ORDER BY rank;
