use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData, BoolStore, FloatDType, IntDType};
use half::{bf16, f16};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn hex(b: &[u8]) -> String { b.iter().map(|x| format!("{x:02x}")).collect() }
fn attempt<F: FnOnce() -> Value>(f: F) -> Value {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(v) => v,
        Err(e) => {
            let t = e.downcast_ref::<String>().cloned().or_else(|| e.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default();
            json!({"panic": t})
        }
    }
}
fn bytes(d: TensorData) -> Value { json!({"dtype": format!("{:?}", d.dtype()), "hex": hex(d.as_bytes())}) }

fn sources() -> Vec<(DType, Vec<Vec<u8>>)> {
    let f64s = [0.0, -0.0, 1.0, 1.7, -2.5, -0.5, 0.5, 127.9, 128.0, -128.9, -129.0, 255.9, 256.0, 300.7, 65504.0, 65519.9, 65520.0, 1e10, -1e10, 2147483647.5, 2147483648.0, 9.3e18, 1.9e19, 1e39, f64::INFINITY, f64::NAN, 1.0 + 2f64.powi(-11) + 2f64.powi(-30), 1e-8, 5e-324, 3.3895314e38];
    let mut v = vec![];
    v.push((DType::F64, f64s.iter().map(|x| x.to_le_bytes().to_vec()).collect()));
    v.push((DType::F32, f64s.iter().map(|x| (*x as f32).to_le_bytes().to_vec()).collect()));
    v.push((DType::Flex32, f64s.iter().map(|x| (*x as f32).to_le_bytes().to_vec()).collect()));
    v.push((DType::F16, f64s.iter().map(|x| f16::from_f64(*x).to_le_bytes().to_vec()).collect()));
    v.push((DType::BF16, f64s.iter().map(|x| bf16::from_f64(*x).to_le_bytes().to_vec()).collect()));
    let ints: [i128; 20] = [0, 1, -1, 2, 127, 128, -128, -129, 255, 256, 32767, 32768, 65535, 65536, 2147483647, 2147483648, -2147483649, 4294967296, 9223372036854775807, 18446744073709551615];
    macro_rules! push { ($dt:expr, $t:ty) => { v.push(($dt, ints.iter().filter(|x| **x >= <$t>::MIN as i128 && **x <= <$t>::MAX as i128).map(|x| (*x as $t).to_le_bytes().to_vec()).collect())); } }
    push!(DType::I64, i64); push!(DType::I32, i32); push!(DType::I16, i16); push!(DType::I8, i8);
    push!(DType::U64, u64); push!(DType::U32, u32); push!(DType::U16, u16); push!(DType::U8, u8);
    v.push((DType::Bool(BoolStore::Native), vec![vec![0], vec![1]]));
    v.push((DType::Bool(BoolStore::U8), vec![vec![0], vec![1], vec![2], vec![255]]));
    v.push((DType::Bool(BoolStore::U32), vec![vec![0,0,0,0], vec![1,0,0,0], vec![0,1,0,0]]));
    v
}
fn targets() -> Vec<DType> {
    vec![DType::F64, DType::F32, DType::Flex32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16, DType::I8, DType::U64, DType::U32, DType::U16, DType::U8, DType::Bool(BoolStore::Native), DType::Bool(BoolStore::U8), DType::Bool(BoolStore::U32)]
}
fn data(b: &[u8], dt: DType) -> TensorData { TensorData::from_bytes_vec(b.to_vec(), [1], dt) }

fn floats(dt: DType) -> Option<FloatDType> { if dt.is_float() { Some(dt.into()) } else { None } }
fn ints(dt: DType) -> Option<IntDType> { if dt.is_int() || dt.is_uint() { Some(dt.into()) } else { None } }

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let dev = Device::default();
    let mut casts = vec![];
    for (src, values) in sources() {
        for t in targets() {
            for b in &values {
                let r = attempt(|| bytes(data(b, src).convert_dtype(t)));
                casts.push(json!([format!("{src:?}"), format!("{t:?}"), hex(b), r]));
            }
        }
    }
    // casts of tensors
    let mut tcasts = vec![];
    for (src, values) in sources() {
        for t in targets() {
            for b in &values {
                let r = attempt(|| {
                    if src.is_float() {
                        let x = Tensor::<1>::from_data(data(b, src), (&dev, src));
                        if let Some(f) = floats(t) { bytes(x.cast(f).into_data()) } else if let Some(i) = ints(t) { bytes(x.cast(i).into_data()) } else { json!(null) }
                    } else if src.is_int() || src.is_uint() {
                        let x = Tensor::<1, Int>::from_data(data(b, src), (&dev, src));
                        if let Some(f) = floats(t) { bytes(x.cast(f).into_data()) } else if let Some(i) = ints(t) { bytes(x.cast(i).into_data()) } else { json!(null) }
                    } else { json!(null) }
                });
                if !r.is_null() { tcasts.push(json!([format!("{src:?}"), format!("{t:?}"), hex(b), r])); }
            }
        }
    }
    // from_data by kind
    let mut kinds = vec![];
    for (src, values) in sources() {
        for t in targets() {
            let b = &values[1];
            let f = attempt(|| bytes(Tensor::<1>::from_data(data(b, src), (&dev, t)).into_data()));
            let i = attempt(|| bytes(Tensor::<1, Int>::from_data(data(b, src), (&dev, t)).into_data()));
            let o = attempt(|| bytes(Tensor::<1, Bool>::from_data(data(b, src), (&dev, t)).into_data()));
            kinds.push(json!([format!("{src:?}"), format!("{t:?}"), hex(b), f, i, o]));
        }
    }
    // arithmetic
    let mut arith = vec![];
    let mut state = 12345u64;
    let mut next = move || { state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); ((state >> 33) as f64 / 2147483648.0 - 0.5) * 20.0 };
    for dt in [DType::F64, DType::F32, DType::F16, DType::BF16] {
        let xs: Vec<f64> = (0..12).map(|_| next()).collect();
        let ys: Vec<f64> = (0..12).map(|_| next()).collect();
        let x = Tensor::<2>::from_data(TensorData::new(xs.clone(), [3, 4]), (&dev, dt));
        let y = Tensor::<2>::from_data(TensorData::new(ys.clone(), [3, 4]), (&dev, dt));
        let mut add = |name: &str, r: Value| arith.push(json!([format!("{dt:?}"), name, r]));
        add("x", bytes(x.to_data())); add("y", bytes(y.to_data()));
        macro_rules! op { ($n:expr, $e:expr) => { add($n, attempt(|| bytes($e.into_data()))); } }
        op!("add", x.clone() + y.clone()); op!("sub", x.clone() - y.clone()); op!("mul", x.clone() * y.clone()); op!("div", x.clone() / y.clone());
        op!("rem", x.clone().remainder(y.clone()));
        op!("add_scalar", x.clone() + 0.1); op!("mul_scalar", x.clone() * 0.1); op!("div_scalar", x.clone() / 0.3); op!("rsub", x.clone().neg() + 0.1); op!("rdiv", x.clone().recip() * 0.3);
        op!("add_int", x.clone() + 3); op!("mul_big", x.clone() * 16777217i64);
        op!("sqrt", x.clone().abs().sqrt()); op!("recip", x.clone().recip()); op!("exp", x.clone().exp()); op!("log", x.clone().abs().log()); op!("tanh", x.clone().tanh()); op!("erf", (x.clone() / 5.0).erf());
        op!("relu", burn::tensor::activation::relu(x.clone())); op!("gelu", burn::tensor::activation::gelu(x.clone())); op!("sigmoid", burn::tensor::activation::sigmoid(x.clone())); op!("softmax", burn::tensor::activation::softmax(x.clone(), 1)); op!("log_softmax", burn::tensor::activation::log_softmax(x.clone(), 0));
        op!("gelu_approximate", burn::tensor::activation::gelu_approximate(x.clone()));
        op!("sum", x.clone().sum()); op!("mean", x.clone().mean()); op!("sum_dim", x.clone().sum_dim(1)); op!("mean_dim", x.clone().mean_dim(0)); op!("max", x.clone().max()); op!("min_dim", x.clone().min_dim(1)); op!("prod_dim", x.clone().prod_dim(1));
        op!("var", x.clone().var(1)); op!("var_bias", x.clone().var_bias(0));
        op!("matmul", x.clone().matmul(y.clone().transpose()));
        op!("argmax", x.clone().argmax(1)); op!("argmin", x.clone().argmin(0));
        op!("greater", x.clone().greater(y.clone())); op!("equal_scalar", x.clone().equal_elem(0.1)); op!("int", x.clone().int()); op!("bool", x.clone().bool()); op!("sign", x.clone().sign()); op!("round", x.clone().round()); op!("floor", x.clone().floor());
        op!("powf", x.clone().abs().powf_scalar(2.5)); op!("powi", x.clone().powi_scalar(3)); op!("pow_tensor", x.clone().abs().powf(y.clone() / 5.0));
        let special = Tensor::<1>::from_data([f64::NAN, 1.0, -0.0, 0.0, f64::INFINITY, -f64::INFINITY], (&dev, dt));
        op!("special relu", burn::tensor::activation::relu(special.clone())); op!("special max", special.clone().max()); op!("special min", special.clone().min()); op!("special sigmoid", burn::tensor::activation::sigmoid(special.clone()));
        op!("special sign", special.clone().sign()); op!("special argmax", special.clone().argmax(0)); op!("special int", special.clone().int()); op!("special bool", special.clone().bool()); op!("special softmax", burn::tensor::activation::softmax(special.clone(), 0));
        op!("special erf", special.clone().erf()); op!("special round", special.clone().round()); op!("special is_nan", special.clone().is_nan()); op!("special gelu", burn::tensor::activation::gelu(special.clone()));
        op!("mismatch", x.clone() + y.clone().cast(if dt == DType::F32 { FloatDType::F64 } else { FloatDType::F32 }));
        op!("mismatch matmul", x.clone().matmul(y.clone().transpose().cast(if dt == DType::F32 { FloatDType::F64 } else { FloatDType::F32 })));
        let e = Tensor::<2>::zeros([0, 3], (&dev, dt));
        op!("empty sum", e.clone().sum()); op!("empty mean", e.clone().mean()); op!("empty max", e.clone().max()); op!("empty sum_dim", e.clone().sum_dim(0)); op!("empty mean_dim", e.clone().mean_dim(0)); op!("empty max_dim", e.clone().max_dim(0)); op!("empty softmax", burn::tensor::activation::softmax(e.clone(), 0)); op!("empty var", e.clone().var(0)); op!("empty prod", e.clone().prod()); op!("empty argmax", e.clone().argmax(0));
        let one = Tensor::<2>::ones([1, 3], (&dev, dt));
        op!("one var", one.clone().var(0)); 
    }
    for dt in [DType::I64, DType::I32, DType::I16, DType::I8, DType::U64, DType::U32, DType::U16, DType::U8] {
        let x = Tensor::<1, Int>::from_data([7, 100, 3, 120, 1, 5], (&dev, dt));
        let y = Tensor::<1, Int>::from_data([2, 100, 7, 9, 3, 4], (&dev, dt));
        let mut add = |name: &str, r: Value| arith.push(json!([format!("{dt:?}"), name, r]));
        macro_rules! op { ($n:expr, $e:expr) => { add($n, attempt(|| bytes($e.into_data()))); } }
        op!("x", x.clone()); op!("y", y.clone());
        op!("add", x.clone() + y.clone()); op!("sub", x.clone() - y.clone()); op!("mul", x.clone() * y.clone()); op!("div", x.clone() / y.clone()); op!("rem", x.clone().remainder(y.clone()));
        op!("neg", x.clone().neg()); op!("neg div", x.clone().neg() / y.clone()); op!("neg rem", x.clone().neg().remainder(y.clone()));
        op!("add_scalar", x.clone() + 300); op!("add_float", x.clone() + 1.7); op!("add_neg", x.clone() + (-3)); op!("sub_scalar", x.clone() - 8); op!("mul_scalar", x.clone() * 3); op!("div_zero", x.clone() / 0); op!("rem_zero", x.clone().remainder_scalar(0)); op!("add nan", x.clone() + f64::NAN); op!("rsub", x.clone().neg() + 3);
        op!("sum", x.clone().sum()); op!("mean", x.clone().mean()); op!("prod", x.clone().prod()); op!("max", x.clone().max()); op!("sum_dim", x.clone().sum_dim(0)); op!("mean_dim", x.clone().mean_dim(0)); op!("argmax", x.clone().argmax(0));
        op!("float", x.clone().float()); op!("bool", x.clone().bool()); op!("greater", x.clone().greater(y.clone())); op!("greater_scalar", x.clone().greater_elem(100)); op!("greater_big", x.clone().greater_elem(300));
        op!("abs", x.clone().neg().abs()); op!("sign", (x.clone() - y.clone()).sign()); op!("powi", x.clone().powi_scalar(2)); op!("matmul", x.clone().reshape([2, 3]).matmul(y.clone().reshape([3, 2])));
        op!("arange", Tensor::<1, Int>::arange_step(0..7, 3, (&dev, dt)));
    }
    let mut misc = vec![];
    macro_rules! m { ($n:expr, $e:expr) => { misc.push(json!([$n, attempt(|| json!(format!("{:?}", $e)))])); } }
    let a = Tensor::<2>::ones([2, 3], &dev);
    m!("shape", a.clone() + Tensor::<2>::ones([2, 4], &dev));
    m!("shape2", a.clone() + Tensor::<2>::ones([3, 4], &dev));
    m!("matmul", a.clone().matmul(Tensor::<2>::ones([2, 4], &dev)));
    m!("reshape", a.clone().reshape([4, 2])); m!("reshape-1", a.clone().reshape([-1, 4]));
    m!("cat", Tensor::cat(vec![a.clone(), Tensor::<2>::ones([2, 4], &dev)], 0)); m!("cat0", Tensor::<2>::cat(Vec::<Tensor<2>>::new(), 0));
    m!("select", a.clone().select(0, Tensor::<1, Int>::from_data([5], &dev))); m!("selectneg", a.clone().select(0, Tensor::<1, Int>::from_data([-1], &dev)).into_data().iter::<f32>().collect::<Vec<_>>());
    m!("slice", a.clone().slice([0..5]).dims()); m!("sliceint", a.clone().slice([0..1, 2..3]).dims()); m!("dim", a.clone().sum_dim(2)); m!("dimneg", a.clone().sum_dim(-3)); m!("swap", a.clone().swap_dims(0, 5)); m!("squeeze", a.clone().squeeze_dim::<1>(0)); m!("narrow", a.clone().narrow(0, 1, 5));m!("narrow", a.clone().narrow(0, 7, 5));m!("narrow", a.clone().narrow(0, 1, 0));
    m!("expand", a.clone().expand([2, 4])); m!("flatten", a.clone().flatten::<1>(1, 0)); m!("into_scalar", a.clone().into_scalar::<f32>());
    m!("mask", a.clone().mask_where(Tensor::<2, Bool>::full([2, 3], true, &dev), Tensor::<2>::ones([2, 4], &dev)));
    m!("permute", a.clone().permute([0, 0])); m!("flip", a.clone().flip([0, 0])); m!("chunk", Tensor::<1>::ones([7], &dev).chunk(3, 0).iter().map(|t| t.dims()[0]).collect::<Vec<_>>()); m!("chunk5", Tensor::<1>::ones([7], &dev).chunk(5, 0).iter().map(|t| t.dims()[0]).collect::<Vec<_>>()); m!("chunk9", Tensor::<1>::ones([3], &dev).chunk(9, 0).iter().map(|t| t.dims()[0]).collect::<Vec<_>>()); m!("repeat", a.clone().repeat_dim(0, 0).dims());
    m!("require", a.clone().require_grad()); m!("nonleaf", (a.clone().autodiff().require_grad() + 1.0).require_grad());
    m!("quant uniform", Tensor::<1>::random([2], burn::tensor::Distribution::Uniform(1.0, 1.0), &dev)); m!("bern", Tensor::<1>::random([2], burn::tensor::Distribution::Bernoulli(1.5), &dev)); m!("norm", Tensor::<1>::random([2], burn::tensor::Distribution::Normal(0.0, f64::NAN), &dev)); m!("normneg", Tensor::<1>::random([2], burn::tensor::Distribution::Normal(0.0, -1.0), &dev).dims()); m!("uninf", Tensor::<1>::random([2], burn::tensor::Distribution::Uniform(0.0, f64::INFINITY), &dev)); m!("unordered", Tensor::<1>::random([2], burn::tensor::Distribution::Uniform(2.0, 1.0), &dev));
    m!("int uniform", Tensor::<1, Int>::random([2], burn::tensor::Distribution::Uniform(0.5, 0.7), &dev).dims()); m!("int normal", Tensor::<1, Int>::random([4], burn::tensor::Distribution::Normal(1e30, 0.0), &dev));
    m!("u8 uniform", Tensor::<1, Int>::random([2], burn::tensor::Distribution::Uniform(-3.0, 7.0), (&dev, DType::U8)).dims());
    m!("zero cmp", a.clone().equal(Tensor::<2>::ones([2, 4], &dev)));
    m!("flex32 zeros", Tensor::<1>::zeros([2], (&dev, DType::Flex32)).dtype()); m!("flex32 add", (Tensor::<1>::zeros([2], (&dev, DType::Flex32)) + 1.0).dtype()); m!("flex32 data", Tensor::<1>::from_data([1.0], (&dev, DType::Flex32)).dtype()); m!("flex32 data add", (Tensor::<1>::from_data([1.0], (&dev, DType::Flex32)) + 1.0).into_data()); m!("flex32 data cast", (Tensor::<1>::from_data([1.0], (&dev, DType::Flex32))).cast(FloatDType::F32).into_data());m!("flex32 matmul", Tensor::<2>::from_data([[1.0]], (&dev, DType::Flex32)).matmul(Tensor::<2>::from_data([[1.0]], (&dev, DType::Flex32))));
    m!("odd int add", Tensor::<1, Int>::from_data([1.5f32], (&dev, DType::F32)) + 1); m!("odd int neg", Tensor::<1, Int>::from_data([1.5f32], (&dev, DType::F32)).neg()); m!("odd int sum", Tensor::<1, Int>::from_data([1.5f32], (&dev, DType::F32)).sum().into_data()); m!("odd int reshape", Tensor::<1, Int>::from_data([1.5f32], (&dev, DType::F32)).reshape([1, 1]).into_data()); m!("odd int gt", Tensor::<1, Int>::from_data([1.5f32], (&dev, DType::F32)).greater_elem(1).into_data()); m!("odd int cast", Tensor::<1, Int>::from_data([1.5f32], (&dev, DType::F32)).cast(IntDType::I32).into_data()); m!("odd int float", Tensor::<1, Int>::from_data([1.5f32], (&dev, DType::F32)).float().into_data());
    m!("rank0", Tensor::<0>::from_data(TensorData::new(vec![1.0f32], Vec::<usize>::new()), &dev).dims());
    println!("{}", serde_json::to_string(&json!({"casts": casts, "tensor_casts": tcasts, "kinds": kinds, "arith": arith, "misc": misc})).unwrap());
}
