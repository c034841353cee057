SELECT purpose FROM call WHERE task = :task AND attempt = :attempt
ORDER BY asked_at, try, purpose, asked;
