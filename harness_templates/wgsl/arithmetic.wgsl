// Instructions of PTX on registers of 32 bits whose meaning differs from the operators of WGSL.

fn divide_unsigned(a: u32, b: u32) -> u32 {
    return select(a / max(b, 1u), 0xffffffffu, b == 0u);
}

fn divide_signed(a: u32, b: u32) -> u32 {
    if (b == 0u || b == 0xffffffffu) {
        return select(0u - a, 0xffffffffu, b == 0u);
    }
    return bitcast<u32>(bitcast<i32>(a) / bitcast<i32>(b));
}

fn min_signed(a: u32, b: u32) -> u32 {
    return bitcast<u32>(min(bitcast<i32>(a), bitcast<i32>(b)));
}

fn max_signed(a: u32, b: u32) -> u32 {
    return bitcast<u32>(max(bitcast<i32>(a), bitcast<i32>(b)));
}

fn shift_left(a: u32, count: u32) -> u32 {
    return select(a << (count & 31u), 0u, count > 31u);
}

fn shift_right_unsigned(a: u32, count: u32) -> u32 {
    return select(a >> (count & 31u), 0u, count > 31u);
}

fn shift_right_signed(a: u32, count: u32) -> u32 {
    return bitcast<u32>(bitcast<i32>(a) >> min(count, 31u));
}

// A number that no compiler of WGSL computes with: an overflow in a constant would be an error there.
fn number(value: u32) -> u32 {
    return value;
}
