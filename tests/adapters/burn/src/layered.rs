//! `zoo/layered`: a model in layers, whose `into_layers` gives what the case asks for.

use crate::args::{self, Args};
use crate::build::{Habits, Site, lazy_float};
use crate::caught::{Fault, protocol};
use crate::modules::{AnyModule, Fixture};
use crate::shared::{Seen, device_name, id_label, known_id, log};
use burn::module::parallel::*;
use burn::module::*;
use burn::tensor::{Device, Tensor, TensorData};
use serde_json::{Value, json};

#[derive(Module, Debug)]
pub struct Lin {
    pub weight: Param<Tensor<2>>,
    pub on: Param<Flag>,
}
impl DistributedLayer for Lin {
    type Input = Tensor<2>;
    type Output = Tensor<2>;
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        log(Seen::Forward { id: self.weight.id.val(), device: x.device() });
        x.matmul(self.weight.val())
    }
}

/// One type of model for each order, all called `Stack`.
macro_rules! stack {
    ($order:ident, $reorder:expr) => {
        mod $order {
            use super::*;
            #[derive(Module, Debug)]
            pub struct Stack {
                pub input: Lin,
                pub hidden: Vec<Lin>,
                pub output: Lin,
            }
            impl LayerParallelism for Stack {
                type InputLayer = Lin;
                type HiddenLayer = Lin;
                type OutputLayer = Lin;
                fn layer_input(&self) -> &Lin {
                    &self.input
                }
                fn layers_hidden(&self) -> impl Iterator<Item = &Lin> {
                    self.hidden.iter()
                }
                fn layer_output(&self) -> &Lin {
                    &self.output
                }
                fn into_layers(self) -> LayerSequence<Self> {
                    let reorder: fn(Vec<Lin>) -> Vec<Lin> = $reorder;
                    LayerSequence { input: self.input, hidden: reorder(self.hidden), output: self.output }
                }
            }
            impl Fixture for Stack {
                fn text(&self, settings: DisplaySettings) -> Option<String> {
                    Some(ModuleDisplay::format(self, settings))
                }
                fn distribute(self, placement: &LayerPlacement) -> Result<Box<dyn AnyModule>, Fault> {
                    Ok(Box::new(DistributedLayeredModel::new(self, placement)))
                }
            }
            impl Fixture for DistributedLayeredModel<Stack> {
                fn forward(&self, input: Tensor<2>) -> Result<Tensor<2>, Fault> {
                    Ok(DistributedLayeredModel::forward(self, input))
                }
                fn placement(&self) -> Result<LayerPlacement, Fault> {
                    Ok(DistributedLayeredModel::placement(self).clone())
                }
                fn into_inner_model(self) -> Result<Box<dyn AnyModule>, Fault> {
                    Ok(Box::new(self.into_inner()))
                }
                fn into_held_stages(self, text: bool) -> Result<Value, Fault> {
                    let held = self.into_stages();
                    let id = |layer: &Lin| id_label(layer.weight.id);
                    let stages: Vec<Value> = held.stages.iter()
                        .map(|s| json!({"device": device_name(&s.device), "layers": s.layers.iter().map(id).collect::<Vec<_>>()}))
                        .collect();
                    let mut made = json!({"input": id(&held.input), "stages": stages, "output": id(&held.output)});
                    if text {
                        made["debug"] = json!(format!("{held:?}"));
                    }
                    Ok(made)
                }
            }
        }
    };
}
stack!(forward, |hidden| hidden);
stack!(reversed, |mut hidden| {
    hidden.reverse();
    hidden
});
stack!(short, |mut hidden| {
    hidden.pop();
    hidden
});
stack!(long, |mut hidden| {
    hidden.extend(hidden.last().cloned());
    hidden
});

fn lin(base: u64, id: u64, device: &Device, lazy: bool) -> Lin {
    let site = Site { device: device.clone(), base };
    let data = TensorData::new(vec![1.0f32, 2.0, 3.0, (base + id) as f32], [2, 2]);
    let weight = if lazy {
        lazy_float(known_id(base + id), data, [2, 2], device, true, Habits::default())
    } else {
        site.float_of(id, data)
    };
    Lin { weight, on: site.flag(id + 1000, true) }
}

pub fn layered(args: Args, base: u64, placement: &LayerPlacement) -> Result<Box<dyn AnyModule>, Fault> {
    let lazy = args::flag_or(args, "lazy", false)?;
    let input = lin(base, 1, &placement.input, lazy);
    let hidden = placement.hidden.iter().enumerate().map(|(i, d)| lin(base, 10 + i as u64, d, lazy)).collect();
    let output = lin(base, 2, &placement.output, lazy);
    Ok(match args["order"].as_str().unwrap_or("forward") {
        "forward" => Box::new(forward::Stack { input, hidden, output }),
        "reversed" => Box::new(reversed::Stack { input, hidden, output }),
        "short" => Box::new(short::Stack { input, hidden, output }),
        "long" => Box::new(long::Stack { input, hidden, output }),
        order => return protocol(format!("`{order}` is no order of layers")),
    })
}
