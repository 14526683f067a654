use burn::module::{Module, Param, ModuleVisitor};
use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
use burn_nn::*;
use burn_nn::attention::*;
use burn_nn::activation::*;
use burn_nn::modules::transformer::*;
use serde_json::{Value, json};

struct Lcg(u64);
impl Lcg { fn f(&mut self) -> f32 { self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); ((self.0 >> 33) as f64 / 2147483648.0 * 2.0 - 1.0) as f32 }
  fn t<const D: usize>(&mut self, s: [usize; D], d: &Device) -> Tensor<D> { let n: usize = s.iter().product(); Tensor::from_data(TensorData::new((0..n).map(|_| self.f()).collect::<Vec<f32>>(), s.to_vec()), d) } }
fn out<const D: usize>(t: &Tensor<D>) -> Value { json!({"shape": t.dims().to_vec(), "values": t.to_data().iter::<f32>().collect::<Vec<f32>>()}) }
fn outb<const D: usize>(t: &Tensor<D, Bool>) -> Value { json!({"shape": t.dims().to_vec(), "values": t.to_data().iter::<bool>().collect::<Vec<bool>>()}) }
struct P { path: Vec<String>, seen: Vec<Value> }
impl ModuleVisitor for P {
  fn visit_float<const D: usize>(&mut self, p: &Param<Tensor<D>>) { self.seen.push(json!([self.path.join("."), out(&p.val())])); }
  fn visit_flag(&mut self, p: &Param<burn::module::Flag>) { self.seen.push(json!([self.path.join("."), p.is_enabled()])); }
  fn enter_module(&mut self, n: &str, _c: &str) { self.path.push(n.to_string()); }
  fn exit_module(&mut self, _n: &str, _c: &str) { self.path.pop(); }
}
struct Fill(Lcg);
impl burn::module::ModuleMapper for Fill {
  fn map_float<const D: usize>(&mut self, p: Param<Tensor<D>>) -> Param<Tensor<D>> { let d = p.lazy_device(); let s = p.val().dims(); let t = self.0.t(s, &d); p.map(|_| t) }
}
fn params<M: Module>(m: &M) -> Value { let mut v = P { path: vec![], seen: vec![] }; m.visit(&mut v); json!(v.seen) }
fn main() {
  let dev = Device::default(); let mut r = Lcg(7); let mut o = serde_json::Map::new();
  let lin = LinearConfig::new(4, 3).init(&dev).map(&mut Fill(Lcg(1)));
  let x = r.t([2, 5, 4], &dev); let x1 = r.t([4], &dev);
  o.insert("linear".into(), json!({"params": params(&lin), "x": out(&x), "y": out(&lin.forward(x.clone())), "x1": out(&x1), "y1": out(&lin.forward(x1)), "display": format!("{lin}"), "nobias": format!("{}", LinearConfig::new(4, 3).with_bias(false).init(&dev)) }));
  let emb = EmbeddingConfig::new(6, 4).init(&dev).map(&mut Fill(Lcg(2)));
  let ids = Tensor::<2, Int>::from_data([[0, 5, 2], [3, 3, 1]], &dev);
  o.insert("embedding".into(), json!({"params": params(&emb), "y": out(&emb.forward(ids)), "display": format!("{emb}")}));
  let ln = LayerNormConfig::new(4).init(&dev).map(&mut Fill(Lcg(3)));
  o.insert("layer_norm".into(), json!({"params": params(&ln), "x": out(&x), "y": out(&ln.forward(x.clone())), "y16": out(&ln.clone().map(&mut Half).forward(x.clone().cast(burn::tensor::FloatDType::F16)).cast(burn::tensor::FloatDType::F32)), "ybf": out(&ln.clone().map(&mut BHalf).forward(x.clone().cast(burn::tensor::FloatDType::BF16)).cast(burn::tensor::FloatDType::F32)), "display": format!("{ln}")}));
  let ad = dev.clone().autodiff();
  let bn = BatchNormConfig::new(3).init(&ad);
  let b1 = r.t([4, 3, 2], &ad); let b2 = r.t([4, 3, 2], &ad);
  let y1 = bn.forward(b1.clone()); let m1 = bn.running_mean.value(); let y2 = bn.forward(b2.clone()); let m2 = bn.running_mean.value(); let v2 = bn.running_var.value();
  let val = bn.valid(); let vm = val.running_mean.value(); let vv = val.running_var.value();
  let y3 = val.forward(b1.clone().inner());
  o.insert("batch_norm".into(), json!({"x1": out(&b1), "x2": out(&b2), "y1": out(&y1), "y2": out(&y2), "mean_after_1": out(&m1), "mean_after_2": out(&m2), "var_after_2": out(&v2), "valid_mean": out(&vm), "valid_var": out(&vv), "valid_y": out(&y3), "display": format!("{bn}"), "frozen": format!("{}", bn.clone().freeze()), "params": params(&bn)}));
  o.insert("dropout".into(), json!({"display": format!("{}", DropoutConfig::new(0.3).init()), "frozen": format!("{}", DropoutConfig::new(0.3).init().freeze())}));
  let mut mha = MultiHeadAttentionConfig::new(4, 2).with_dropout(0.0).init(&dev).map(&mut Fill(Lcg(4)));
  let q = r.t([2, 3, 4], &dev); let k = r.t([2, 5, 4], &dev); let v = r.t([2, 5, 4], &dev);
  let cross = mha.forward(MhaInput::new(q.clone(), k.clone(), v.clone()));
  let mask = generate_autoregressive_mask(2, 3, &dev);
  let sa = mha.forward(MhaInput::self_attn(q.clone()).mask_attn(mask.clone()));
  let pad = Tensor::<2, Bool>::from_data([[true, true, true], [false, false, true]], &dev);
  let sp = mha.forward(MhaInput::self_attn(q.clone()).mask_attn(mask.clone()).mask_pad(pad));
  mha.quiet_softmax = true; let quiet = mha.forward(MhaInput::self_attn(q.clone()));
  o.insert("mha".into(), json!({"params": params(&mha), "q": out(&q), "k": out(&k), "v": out(&v), "cross": [out(&cross.weights), out(&cross.context)], "mask": outb(&mask), "masked": [out(&sa.weights), out(&sa.context)], "padded": [out(&sp.weights), out(&sp.context)], "quiet": [out(&quiet.weights), out(&quiet.context)], "display": format!("{mha}")}));
  let ff = PositionWiseFeedForwardConfig::new(4, 8).with_dropout(0.0).init(&dev).map(&mut Fill(Lcg(5)));
  o.insert("pwff".into(), json!({"params": params(&ff), "x": out(&x), "y": out(&ff.forward(x.clone())), "display": format!("{ff}")}));
  let enc = TransformerEncoderConfig::new(4, 8, 2, 2).with_dropout(0.0).with_norm_first(true).init(&dev).map(&mut Fill(Lcg(6)));
  let y = enc.forward(TransformerEncoderInput::new(q.clone()).mask_attn(mask));
  o.insert("encoder".into(), json!({"params": params(&enc), "x": out(&q), "y": out(&y), "display": format!("{enc}")}));
  o.insert("activations".into(), json!({"gelu": format!("{}", Gelu::new()), "relu": format!("{}", Relu::new())}));
  println!("{}", serde_json::to_string(&Value::Object(o)).unwrap());
}
struct Half;
impl burn::module::ModuleMapper for Half { fn map_float<const D: usize>(&mut self, p: Param<Tensor<D>>) -> Param<Tensor<D>> { p.map(|t| t.cast(burn::tensor::FloatDType::F16)) } }
struct BHalf;
impl burn::module::ModuleMapper for BHalf { fn map_float<const D: usize>(&mut self, p: Param<Tensor<D>>) -> Param<Tensor<D>> { p.map(|t| t.cast(burn::tensor::FloatDType::BF16)) } }
