-- What the model was told for the most common diagnostics of run :nr.
SELECT feedback(nr, record) AS text, place FROM failure WHERE nr = :nr AND place <= 5 ORDER BY place;
