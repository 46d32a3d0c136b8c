SELECT b.auction, b.price, b.bidder, b.date_time, b.extra
FROM bid b
JOIN (SELECT max(price) AS maxprice, date_bin(INTERVAL '10' SECOND, date_time) AS starttime FROM bid GROUP BY date_bin(INTERVAL '10' SECOND, date_time)) m
    ON b.price = m.maxprice
WHERE b.date_time BETWEEN m.starttime AND m.starttime + INTERVAL '10' SECOND
