SELECT auction, bidder, price, date_time, extra, to_char(date_time, '%Y-%m-%d') AS day, to_char(date_time, '%H:%M') AS minute FROM bid
