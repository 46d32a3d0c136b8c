WITH slid AS (
    SELECT auction, date_bin(INTERVAL '2' SECOND, date_time) - back AS starttime
    FROM bid CROSS JOIN (VALUES (INTERVAL '0' SECOND), (INTERVAL '2' SECOND), (INTERVAL '4' SECOND), (INTERVAL '6' SECOND), (INTERVAL '8' SECOND)) AS pieces (back)),
counted AS (SELECT auction, starttime, count(*) AS num FROM slid GROUP BY auction, starttime),
best AS (SELECT starttime, max(num) AS maxn FROM counted GROUP BY starttime)
SELECT c.auction, c.num, c.starttime
FROM counted c JOIN best b ON c.starttime = b.starttime AND c.num >= b.maxn
