use super::*;

#[test]
fn ranges_are_those_of_a_map_of_bytes() {
    let (marks, mut model) = (Marks::default(), [false; 64]);
    let mut state = 9u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (from, length) = ((state >> 33) % 64, (state >> 43) % 12);
        let end = (from + length).min(64);
        let add = state >> 60 & 1 == 1;
        if add {
            marks.add(from, end)
        } else {
            marks.remove(from, end)
        }
        model[from as usize..end as usize].fill(add);
        let at = (state >> 50) % 64;
        let expected = (at..64).find(|byte| model[*byte as usize]);
        assert_eq!(marks.first(at, 64), expected);
        let next = marks.within(at, 64, 1);
        let until = expected.map(|from| (from..64).find(|b| !model[*b as usize]).unwrap_or(64));
        assert_eq!(next, expected.zip(until).into_iter().collect::<Vec<_>>());
        assert_eq!(marks.any(), model.contains(&true));
        let runs = model.chunk_by(|a, b| a == b).filter(|run| run[0]).count();
        assert_eq!(marks.count(), runs, "no two ranges touch");
        let kept = Marks::from(Vec::from(marks.clone()));
        assert_eq!(Vec::from(kept), Vec::from(marks.clone()));
    }
}
