SELECT bidder, count(*) AS bid_count, date_bin(INTERVAL '10' SECOND, date_time) AS starttime
FROM bid GROUP BY bidder, date_bin(INTERVAL '10' SECOND, date_time)
