//! Times real Burn quantising and dequantising a [4096, 4096] tensor on the flex backend: the peer of
//! `tests/bench/quantisation.py`. Prints one JSON object: seconds by name, the least of five.
use burn::tensor::quantization::{
    Calibration, QuantScheme, QuantStore, QuantValue, ScaleDtype, compute_q_params, compute_range,
};
use burn::tensor::{Device, Tensor, TensorData};
use std::hint::black_box;
use std::time::Instant;

fn least(mut work: impl FnMut()) -> f64 {
    work();
    (0..5)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    let device = Device::flex();
    let values: Vec<f32> = (0..4096 * 4096).map(|i| ((i as f32) * 0.618_034).sin()).collect();
    let weights = Tensor::<2>::from_data(TensorData::new(values, [4096, 4096]), &device);
    let scheme = |value, store| QuantScheme::default().with_value(value).with_store(store);
    let schemes = [
        ("int8 per tensor", scheme(QuantValue::Q8S, QuantStore::Native).per_tensor(ScaleDtype::F32)),
        ("int8 block 32", scheme(QuantValue::Q8S, QuantStore::Native).per_block([32], ScaleDtype::F32)),
        ("int4 block 32 packed", scheme(QuantValue::Q4S, QuantStore::PackedU32(0)).per_block([32], ScaleDtype::F32)),
        ("fp8", scheme(QuantValue::E4M3, QuantStore::Native).per_tensor(ScaleDtype::F32)),
    ];
    let mut times = serde_json::Map::new();
    for (name, scheme) in schemes {
        let quantise = || {
            let range = compute_range(&scheme, &weights, &Calibration::MinMax);
            weights.clone().quantize(&scheme, compute_q_params(&scheme, range))
        };
        let quantised = quantise();
        times.insert(format!("quantise {name}"), least(|| { black_box(quantise()); }).into());
        times.insert(format!("dequantise {name}"), least(|| { black_box(quantised.clone().dequantize()); }).into());
    }
    println!("{}", serde_json::Value::Object(times));
}
