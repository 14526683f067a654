//! `quant.op`: operations of float tensors, asked of quantised ones.

use crate::args::{self, Args};
use crate::case::Case;
use crate::caught::{Fault, protocol};
use crate::data;
use crate::tensors::{AnyTensor, Kind};
use crate::with_rank;
use burn::tensor::{Device, Distribution, Int, Slice, Tensor, activation};

type Made = Result<Box<dyn AnyTensor>, Fault>;

fn fixed<const D: usize>(args: Args, key: &str) -> Result<[i64; D], Fault> {
    let numbers = args::list(args, key)?.iter().map(args::signed).collect::<Result<Vec<_>, _>>()?;
    let count = numbers.len();
    numbers.try_into().or_else(|_| protocol(format!("`{key}` has {count} entries, not {D}")))
}
fn ranges(args: Args) -> Result<Vec<Slice>, Fault> {
    let one = |r: &serde_json::Value| {
        let step = if r[2].is_null() { 1 } else { args::signed(&r[2])? as isize };
        Ok(Slice::new(args::signed(&r[0])? as isize, Some(args::signed(&r[1])? as isize), step))
    };
    args::list(args, "ranges")?.iter().map(one).collect()
}
fn number(args: Args, key: &str) -> Result<usize, Fault> {
    Ok(args::whole(&args[key])? as usize)
}
fn indices<const D: usize>(args: Args, device: &Device) -> Result<Tensor<D, Int>, Fault> {
    let read = data::read(&args["indices"], "int", 0)?;
    Ok(Kind::from_tensor_data(read, device))
}

pub fn op<const D: usize>(case: &Case, args: Args, this: Tensor<D>) -> Made {
    let name = args::text(args, "op")?;
    let device = this.device();
    let other = || {
        let found = args["with"].as_str().and_then(|n| case.tensor(n).ok());
        let found = found.and_then(|t| t.as_any().downcast_ref::<Tensor<D>>()).cloned();
        found.map_or_else(|| protocol(format!("`{name}` needs `with`: a float tensor of the same rank")), Ok)
    };
    let value = || args::float(&args["value"]);
    Ok(match name {
        "clone" => Box::new(this),
        "swap_dims" => {
            let [a, b] = fixed::<2>(args, "dims")?;
            Box::new(this.swap_dims(a, b))
        }
        "permute" => Box::new(this.permute(fixed::<D>(args, "dims")?)),
        "transpose" => Box::new(this.transpose()),
        "reshape" => with_rank!(args::list(args, "shape")?.len(), E => Box::new(this.reshape::<E, _>(fixed::<E>(args, "shape")?))),
        "expand" => with_rank!(args::list(args, "shape")?.len(), E => Box::new(this.expand::<E, _>(fixed::<E>(args, "shape")?))),
        "flip" => match args::list(args, "dims")?.len() {
            1 => Box::new(this.flip(fixed::<1>(args, "dims")?)),
            _ => Box::new(this.flip(fixed::<2>(args, "dims")?)),
        },
        "slice" => Box::new(this.slice(ranges(args)?.as_slice())),
        "slice_assign" => Box::new(this.slice_assign(ranges(args)?.as_slice(), other()?)),
        "narrow" => Box::new(this.narrow(number(args, "dim")?, number(args, "start")?, number(args, "length")?)),
        "select" => Box::new(this.select(number(args, "dim")?, indices::<1>(args, &device)?)),
        "gather" => Box::new(this.gather(number(args, "dim")?, indices::<D>(args, &device)?)),
        "cat" => Box::new(Tensor::cat(vec![this, other()?], number(args, "dim")?)),
        "repeat" => Box::new(this.repeat(&args::sizes(args, "times")?)),
        "abs" => Box::new(this.abs()),
        "sort" => Box::new(this.sort(number(args, "dim")?)),
        "topk" => Box::new(this.topk(number(args, "k")?, number(args, "dim")?)),
        "max" => Box::new(this.max()),
        "min" => Box::new(this.min()),
        "max_dim" => Box::new(this.max_dim(number(args, "dim")?)),
        "mean" => Box::new(this.mean()),
        "sum" => Box::new(this.sum()),
        "sum_dim" => Box::new(this.sum_dim(number(args, "dim")?)),
        "neg" => Box::new(this.neg()),
        "relu" => Box::new(activation::relu(this)),
        "add" => Box::new(this + other()?),
        "sub" => Box::new(this - other()?),
        "mul" => Box::new(this * other()?),
        "div" => Box::new(this / other()?),
        "matmul" => Box::new(this.matmul(other()?)),
        "add_scalar" => Box::new(this + value()?),
        "mul_scalar" => Box::new(this * value()?),
        "cast" => this.converted(data::dtype(&args["dtype"])?)?,
        "zeros_like" => Box::new(this.zeros_like()),
        "ones_like" => Box::new(this.ones_like()),
        "full_like" => Box::new(this.full_like(value()?)),
        "empty_like" => Box::new(this.empty_like()),
        "random_like" => Box::new(this.random_like(Distribution::Default)),
        "set_require_grad" => Box::new(this.set_require_grad(args::flag(args, "value")?)),
        "require_grad" => Box::new(this.require_grad()),
        "detach" => Box::new(this.detach()),
        "to_device" => Box::new(this.to_device(&args::device(args, "device")?)),
        "autodiff" => Box::new(this.autodiff()),
        "inner" => Box::new(this.inner()),
        _ => return protocol(format!("`{name}` is no operation of a quantised tensor")),
    })
}
